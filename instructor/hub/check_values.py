"""Looks at values.yaml before helm does: what is not filled in, keys that the chart does not know; with --schema its own rules.

python instructor/hub/check_values.py [--schema jupyterhub/values.schema.json] [FILE]
"""

import argparse
import json
import re
import sys
from pathlib import Path

import yaml
from jsonschema import Draft7Validator

HERE = Path(__file__).resolve().parent
FREE = {"type": "object"}


def closed(**properties: dict) -> dict:
    """Return the rule for a mapping with these keys and no others."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


TEXT, FLAG, COUNT = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}
AMOUNT = {"type": ["number", "string", "null"]}
POLICY = closed(
    enabled=FLAG,
    egress={"type": "array"},
    ingress={"type": "array"},
    egressAllowRules=closed(
        cloudMetadataServer=FLAG,
        dnsPortsCloudMetadataServer=FLAG,
        dnsPortsKubeSystemNamespace=FLAG,
        dnsPortsPrivateIPs=FLAG,
        nonPrivateIPs=FLAG,
        privateIPs=FLAG,
    ),
)
# The part of the chart's interface that our file uses, written down from its schema. Wider than the schema nowhere.
USED = closed(
    custom=FREE,
    hub=closed(config=FREE, extraConfig=FREE, networkPolicy=POLICY, loadRoles=FREE, services=FREE),
    proxy=closed(
        service=closed(type={"enum": ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]}),
        https=closed(
            enabled=FLAG,
            type={"enum": ["letsencrypt", "manual", "offload", "secret"]},
            hosts={"type": "array"},
            letsencrypt=closed(contactEmail=TEXT, acmeServer=TEXT),
        ),
    ),
    singleuser=closed(
        image={**closed(name=TEXT, tag=TEXT, pullPolicy=TEXT), "required": ["name", "tag"]},
        cmd={"type": ["array", "string", "null"]},
        defaultUrl=TEXT,
        startTimeout=COUNT,
        fsGid=COUNT,
        uid=COUNT,
        allowPrivilegeEscalation=FLAG,
        cpu=closed(limit={"type": "number"}, guarantee={"type": "number"}),
        memory=closed(limit=AMOUNT, guarantee=AMOUNT),
        extraEnv=FREE,
        storage={
            **closed(
                type={"enum": ["dynamic", "static", "none"]},
                capacity=TEXT,
                homeMountPath=TEXT,
                extraVolumes={"type": "array"},
                extraVolumeMounts={"type": "array"},
            ),
            "required": ["type", "homeMountPath"],
        },
        cloudMetadata={**closed(blockWithIptables=FLAG, ip=TEXT), "required": ["blockWithIptables", "ip"]},
        networkPolicy=POLICY,
    ),
    prePuller=closed(hook=closed(enabled=FLAG), continuous=closed(enabled=FLAG)),
    cull=closed(enabled=FLAG, timeout=COUNT, every=COUNT, concurrency=COUNT, maxAge=COUNT, users=FLAG),
    scheduling=closed(userScheduler=closed(enabled=FLAG)),
    debug=closed(enabled=FLAG),
)


def problems(values: dict, schema: dict = USED) -> list[str]:
    """Return what the rules say against `values`, each with its place."""
    found = sorted(Draft7Validator(schema).iter_errors(values), key=lambda error: list(map(str, error.path)))
    return [f"{'.'.join(map(str, error.path)) or 'the file'}: {error.message}" for error in found]


def not_filled_in(text: str) -> list[str]:
    """Return the words in capitals that are still to be replaced, outside of comments and names of variables."""
    lines = [line.split("#")[0] for line in text.splitlines()]
    words = re.findall(r"(?:[A-Z]+[-.@])+[A-Z]{2,}|\b(?:INSTRUCTOR|LEARNER)\b|YOUR-REGISTRY", "\n".join(lines))
    return sorted(set(words))


def main() -> int:
    """Print what is wrong; 1 if something is, 0 if only words in capitals are left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=HERE / "values.yaml")
    parser.add_argument("--schema", type=Path, help="values.schema.json or .yaml of the chart that you will install")
    args = parser.parse_args()
    text = args.file.read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    wrong = problems(values)
    if args.schema:
        schema = yaml.safe_load(args.schema.read_text(encoding="utf-8"))
        schema.pop("required", None)  # the chart's own defaults fill in what a file leaves out
        wrong += problems(values, json.loads(json.dumps(schema)))
    for line in wrong:
        print(line, file=sys.stderr)
    if words := not_filled_in(text):
        print("still to be filled in: " + ", ".join(words))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
