"""A saved model answers without the code that trained it: neither `gossamer.training` nor Lightning is imported."""

from __future__ import annotations

import json
import subprocess
import sys

from test_contracts import CASES

# One estimator of each family, by its first case in the contracts; and what it is asked for.
ASKED = {
    "ALS": "recommend",
    "MultVAE": "recommend",
    "SparseDiscreteVAE": "transform",
    "AnchorTextClassifier": "predict",
    "SentenceVAE": "transform",
    "CompressedClassifier": "predict",
    "CommunityRecommender": "recommend",
    "HMM": "predict",
}
ASK = """
import json
import sys
import gossamer
from gossamer.testing import right_answers

found = {}
for path, question, data_name in json.load(sys.stdin):
    data = getattr(right_answers, data_name)()
    model = gossamer.load(path)
    getattr(model, question)(data.test if hasattr(data, "test") else data.history)
    found[path] = [name for name in sys.modules if name.startswith(("gossamer.training", "lightning"))]
print(json.dumps(found))
"""


def test_nothing_of_training_is_imported(tmp_path):
    questions = []
    for name, question in ASKED.items():
        case = next(case for case in CASES if type(case.estimator).__name__ == name)
        # After one epoch: that it answers is asked, not how well.
        case.fresh().set_params(epochs=1).fit(case.training()).save(tmp_path / name)
        questions.append([str(tmp_path / name), question, case.data.__name__])
    # One process for all: importing torch takes longer than all the answers.
    done = subprocess.run([sys.executable, "-c", ASK], input=json.dumps(questions), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {path: [] for path, _, _ in questions}
