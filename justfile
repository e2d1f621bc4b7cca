# `just check` is exactly what CI runs.

# Lists the recipes.
default:
    @just --list

# Everything that must pass.
check: fmt clippy test doctest docs deny typos prose words site python

# Formatting.
fmt:
    cargo fmt --all --check

# Lints, with warnings denied.
clippy:
    cargo clippy --workspace --all-targets -- --deny warnings

# Unit and integration tests.
test:
    cargo nextest run --workspace

# Examples in the documentation.
doctest:
    cargo test --quiet --workspace --doc

# Documentation without broken links.
docs:
    RUSTDOCFLAGS="--deny warnings" cargo doc --quiet --workspace --no-deps --document-private-items

# Licences, bans and sources of the dependencies (advisories need a network).
deny:
    cargo fetch --quiet --locked
    cargo deny --offline check licenses bans sources

# Spelling.
typos:
    typos

# Prose: formatted, and wrapped at 100 columns; `just prose ""` formats it. Pages that scripts write are theirs.
prose check="--check":
    [ -e target/python ] || uv venv --quiet target/python
    uv pip install --quiet --python target/python mdformat==1.0.0 mdformat-gfm==1.0.0
    git ls-files '*.md' ':!:crates/hambo-cli/tests/*' ':!:*/results/*' | xargs target/python/bin/mdformat {{check}}

# Words that CONTRIBUTING.md has simpler ones for.
words:
    ! git grep -nIiwE 'but for|at the most|to the bit|mend|mends|mended|thereby|be it' -- ':!:CONTRIBUTING.md' ':!:justfile' ':!:*/results/*'

# The site, into target/site; a broken link fails.
site:
    [ -e target/python ] || uv venv --quiet target/python
    uv pip install --quiet --python target/python mkdocs-material==9.8.1 'mkdocstrings[python]==1.0.8' ruff
    NO_MKDOCS_2_WARNING=1 target/python/bin/mkdocs build --quiet

# Network speed as a share of the best bare matrix product of the same run.
bench-nn:
    cargo bench --quiet -p hambo --bench nn

# A Gaussian process's fit and prediction over their bare algebra.
bench-gp:
    cargo bench --quiet -p hambo --bench gp

# The ensemble on Pendulum: error, uncertainty away from the data, calibration; five seeds.
study-pendulum-model:
    cargo run --quiet -p hambo-studies --bin pendulum_model

# Bounds on Pendulum against the true return, as CSV, e.g. `just study-pendulum-bound 10000 100,200,400`: hours for all settings.
study-pendulum-bound *arguments:
    cargo run --quiet -p hambo-studies --bin pendulum_bound -- {{arguments}}

# The paper's toy example: five seeds, and its figure.
study-point-safety figure="point_safety.svg":
    cargo run --quiet -p hambo-studies --bin point_safety -- 0 5
    cargo run --quiet -p hambo-studies --bin point_safety -- 0 1 next_state 1 {{figure}}

# Gaussian process bounds over the size of the data, as CSV, e.g. `just study-gp-convergence pendulum`: half an hour each.
study-gp-convergence *arguments:
    cargo run --quiet -p hambo-studies --bin gp_convergence -- {{arguments}}

# How often the gate is wrong, on small systems with known truth; an hour for everything, minutes with `--quick`. Needs hambo, scipy, matplotlib and icu-sepsis.
zoo *arguments:
    reproductions/zoo/run {{arguments}}

# Runs the tutorials and keeps their outputs: a quarter of an hour. Needs hambo and what docs/tutorials/run.py says.
tutorials *names:
    python docs/tutorials/run.py {{names}}

# Fuzzes every reader and loader of hambo-io for some seconds each; needs `cargo install cargo-fuzz`.
fuzz seconds="600":
    bash crates/hambo-io/fuzz/run {{seconds}}

# The Python package on the library that the tests have built: lints, tests, types.
python:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --quiet --workspace --lib --bins --examples
    [ -e target/python ] || uv venv --quiet target/python
    bin="$PWD/target/python/bin"
    uv pip install --quiet --python target/python 'gymnasium[mujoco]' icu-sepsis jsonschema matplotlib mypy numpy onnx pandas pytest pytest-xdist 'ray>=2.60' ruff
    rm -rf target/python-package && mkdir target/python-package
    cp -r python/hambo target/python-package/
    # Without symbols, as in a wheel: it loads faster.
    strip --strip-unneeded -o target/python-package/hambo/_native.abi3.so target/debug/lib_native.so
    "$bin/ruff" check docs python reproductions examples && "$bin/ruff" format --check docs python reproductions examples
    # From elsewhere: in `python` the folder `hambo` would be taken for the built package.
    cd target
    export PYTHONPATH="$PWD/python-package" MYPYPATH="$PWD/python-package"
    export HAMBO_COMMAND="$PWD/debug/hambo" HAMBO_ONE_BOUND="$PWD/debug/examples/one_bound"
    # Files side by side, because most of their time is Python's, which uses one core; the longest first.
    "$bin/pytest" --config-file ../pyproject.toml --numprocesses 2 --dist loadfile --no-loadscope-reorder \
        ../python/tests/test_zoo.py ../python/tests
    "$bin/mypy" --config-file ../pyproject.toml ../python/tests ../python/examples ../python/benchmarks
    "$bin/stubtest" --mypy-config-file ../pyproject.toml hambo._native

# The Python package as users get it: a wheel in a new virtual environment, its tests, and its types; `just python-test release` builds what is published.
python-test profile="dev":
    #!/usr/bin/env bash
    set -euo pipefail
    python3 -m venv --clear target/python-test
    bin="$PWD/target/python-test/bin"
    "$bin/pip" install --quiet 'maturin>=1.16,<2' mypy numpy pytest ruff
    rm -rf target/wheels
    "$bin/maturin" build --quiet --profile {{profile}}
    "$bin/pip" install --quiet --force-reinstall --no-deps target/wheels/hambo-*.whl
    "$bin/ruff" check docs python reproductions examples && "$bin/ruff" format --check docs python reproductions examples
    # From elsewhere: in `python` the folder `hambo` would be taken for the installed package.
    cd target
    "$bin/pytest" --config-file ../pyproject.toml ../python/tests
    "$bin/mypy" --config-file ../pyproject.toml ../python/tests ../python/examples ../python/benchmarks
    "$bin/stubtest" --mypy-config-file ../pyproject.toml hambo._native

# The Python package with real objects of other packages, in an environment that has them (torch alone takes gigabytes).
python-third-parties environment="target/python-third-parties":
    #!/usr/bin/env bash
    set -euo pipefail
    if [ ! -e {{environment}} ]; then
        python3 -m venv {{environment}}
        {{environment}}/bin/pip install --quiet pytest gymnasium[mujoco] minari[hdf5,arrow] stable-baselines3 d3rlpy polars pyarrow duckdb deltalake pyiceberg[sql-sqlite] onnx matplotlib pandas mlflow wandb tensorboard tensorboardX
    fi
    {{environment}}/bin/pip install --quiet --force-reinstall --no-deps target/wheels/hambo-*.whl
    bin="$(realpath {{environment}}/bin)"
    cd target && "$bin/pytest" --config-file ../pyproject.toml ../python/tests/test_third_parties.py ../python/tests/test_examples.py ../python/tests/test_trackers.py ../python/tests/test_guides.py -rs

# Networks on a graphics processor, or on a program that plays one (Debian: mesa-vulkan-drivers): comparisons with the processor, and all variants where theory puts them. On such a program it takes six minutes; most of an hour with `adversary::`, longer with `learn::`.
test-wgpu *tests="devices:: evaluate::every_variant":
    HAMBO_TEST_DEVICE=wgpu CUBECL_WGPU_DEFAULT_DEVICE="${CUBECL_WGPU_DEFAULT_DEVICE:-Cpu}" CARGO_TARGET_DIR=target/devices cargo nextest run -p hambo --features wgpu,internals --no-fail-fast {{tests}}

# Object stores, which few builds have, against a web server and an S3 server on this machine.
remote:
    #!/usr/bin/env bash
    set -euo pipefail
    if [ ! -e target/remote ]; then
        python3 -m venv target/remote
        target/remote/bin/pip install --quiet 'moto[server]' boto3
    fi
    PATH="$PWD/target/remote/bin:$PATH" cargo nextest run --workspace --features hambo-io/remote remote::
