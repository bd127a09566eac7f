"""README.md of every role is what the role says about itself now."""

from __future__ import annotations

from pathlib import Path

from rackmark import role_readme

ROOT = Path(__file__).parents[2]


def test_readmes_are_current():
    old = [
        str(path.relative_to(ROOT))
        for path, text in role_readme.readmes(ROOT).items()
        if not path.exists() or path.read_text() != text
    ]
    assert old == [], f"run '{role_readme.COMMAND}'"


def test_a_readme_says_what_a_role_is_for_where_it_applies_and_what_can_be_set(tmp_path):
    role = tmp_path / "roles/disk"
    for folder in ("meta", "defaults"):
        (role / folder).mkdir(parents=True)
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks/site.yml").write_text(
        "[{ansible.builtin.import_playbook: roles.yml}, {hosts: all, roles: [{role: other}]}]"
    )
    (tmp_path / "playbooks/roles.yml").write_text(
        "[{hosts: 'disks:vaults:&{{ only }}', tasks: [{ansible.builtin.import_role: {name: disk}, tags: disk}]}]"
    )
    (tmp_path / "playbooks/wipe.yml").write_text("[{hosts: '{{ chosen }}', roles: [{role: wiper}]}]")
    wiper = tmp_path / "roles/wiper"
    (wiper / "meta").mkdir(parents=True)
    (wiper / "meta/argument_specs.yml").write_text(
        "{argument_specs: {main: {short_description: Wiper, options: {wiper_mode: {choices: ['', fast]}}}}}"
    )
    (role / "defaults/main.yml").write_text("{disk_size: 4, disk_user: '{{ cluster_user }}', disk_parts: []}")
    (role / "meta/argument_specs.yml").write_text(
        """
argument_specs:
  main:
    short_description: Disks
    description: [As C(fdisk) makes them.]
    options:
      disk_size: {description: Size in GB., type: int, default: 4, choices: [4, 8]}
      disk_user: {description: Owner., type: str, default: the cluster's user}
      disk_parts:
        description: Parts.
        type: list
        elements: dict
        options: {name: {description: Name., type: str, required: true}}
"""
    )
    text, of_wiper = role_readme.readmes(tmp_path).values()
    assert text.splitlines()[:9:2] == [
        "# disk",
        "Disks.",
        "As `fdisk` makes them.",
        "Applied to `disks`, `vaults` by `playbooks/site.yml`.",
        "Alone: `ansible-playbook site.yml --tags disk`, on one host with `--limit` and its name.",
    ]
    assert "| `disk_size` | int | `4` | Size in GB. One of `4`, `8`. |" in text
    assert "| `disk_user` | str | the cluster's user | Owner. |" in text
    assert "| `disk_parts[].name` | str | required | Name. |" in text
    assert "Applied by `playbooks/wipe.yml`." in of_wiper.splitlines()
    assert "One of empty, `fast`." in of_wiper
