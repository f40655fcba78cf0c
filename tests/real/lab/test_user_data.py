from __future__ import annotations

from tests.real.lab.user_data import Taint, orders_of
from treenail.domain.model.node_classes import AmiFamily

NODE_CONFIG = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
echo: hello: world

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: demo, apiServerEndpoint: "https://api"}
  kubelet:
    config:
      maxPods: 29
      registerWithTaints:
      - {key: dedicated, value: gpu, effect: NoSchedule}
      - {key: karpenter.sh/unregistered, effect: NoExecute}
    flags: ["--node-labels=karpenter.sh/nodepool=default,team="]
--//--
"""

SCRIPT = """#!/bin/bash -xe
exec > >(tee /var/log/user-data.log) 2>&1
/etc/eks/bootstrap.sh demo --apiserver-endpoint https://api --use-max-pods false --kubelet-extra-args \
'--node-labels=a=b,c=d --register-with-taints=dedicated=gpu:NoSchedule,x/y:NoExecute --max-pods=17'
"""

FLAGS = '--node-labels="a=b,c=d" --register-with-taints="x/y:NoExecute" --max-pods=110'
WINDOWS = f"""<powershell>
Write-Host "hello"
& "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1" -EKSClusterName 'it''s' \
-APIServerEndpoint 'https://api' -KubeletExtraArgs '{FLAGS}' -DNSClusterIP '10.0.0.10'
</powershell>
"""

SETTINGS = """[settings.kubernetes]
cluster-name = "demo"
api-server = "https://api"
max-pods = 29
node-labels = {a = "b"}

[settings.kubernetes.node-taints]
dedicated = ["gpu:NoSchedule"]
"x/y" = [":NoExecute"]
"""


def test_a_node_config_is_read_out_of_its_envelope() -> None:
    orders = orders_of(NODE_CONFIG)

    assert (orders.cluster, orders.endpoint, orders.max_pods) == ("demo", "https://api", 29)
    assert orders.labels == {"karpenter.sh/nodepool": "default", "team": ""}
    assert orders.taints == [
        Taint("dedicated", "NoSchedule", "gpu"),
        Taint("karpenter.sh/unregistered", "NoExecute"),
    ]


def test_the_flags_of_a_bootstrap_script_are_read() -> None:
    orders = orders_of(SCRIPT)

    assert (orders.cluster, orders.endpoint, orders.max_pods) == ("demo", "https://api", 17)
    assert orders.labels == {"a": "b", "c": "d"}
    assert orders.taints == [Taint("dedicated", "NoSchedule", "gpu"), Taint("x/y", "NoExecute")]


def test_the_call_of_a_windows_script_is_read() -> None:
    orders = orders_of(WINDOWS)

    assert (orders.cluster, orders.endpoint, orders.max_pods) == ("it's", "https://api", 110)
    assert orders.labels == {"a": "b", "c": "d"}
    assert orders.taints == [Taint("x/y", "NoExecute")]
    assert orders.family.windows


def test_the_settings_of_bottlerocket_are_read() -> None:
    orders = orders_of(SETTINGS)

    assert (orders.cluster, orders.endpoint, orders.max_pods) == ("demo", "https://api", 29)
    assert orders.labels == {"a": "b"}
    assert orders.taints == [Taint("dedicated", "NoSchedule", "gpu"), Taint("x/y", "NoExecute")]
    assert orders.family is AmiFamily.BOTTLEROCKET


def test_user_data_that_says_nothing_orders_nothing() -> None:
    assert orders_of("#!/bin/bash\necho hello\n").labels == {}
    assert orders_of("").max_pods is None
