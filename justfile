# `just check` is exactly what CI runs.

# Lists the recipes.
default:
    @just --list

# Everything that must pass.
check: fmt clippy test doctest docs deny typos

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

# Network speed as a share of the best bare matrix product of the same run.
bench-nn:
    cargo run --quiet -p hambo --example bench_nn

# A Gaussian process's fit and prediction over their bare algebra.
bench-gp:
    cargo run --quiet -p hambo --example bench_gp

# The ensemble on Pendulum: error, uncertainty away from the data, calibration; five seeds.
study-pendulum-model:
    cargo run --quiet -p hambo --example pendulum_model

# Bounds on Pendulum against the true return, as CSV, e.g. `just study-pendulum-bound 10000 100,200,400`: hours for all settings.
study-pendulum-bound *arguments:
    cargo run --quiet -p hambo --example pendulum_bound -- {{arguments}}

# The paper's toy example: five seeds, and its figure.
study-point-safety figure="point_safety.svg":
    cargo run --quiet -p hambo --example point_safety -- 0 5
    cargo run --quiet -p hambo --example point_safety -- 0 1 next_state 1 {{figure}}

# Gaussian process bounds over the size of the data, as CSV, e.g. `just study-gp-convergence pendulum`: half an hour each.
study-gp-convergence *arguments:
    cargo run --quiet -p hambo --example gp_convergence -- {{arguments}}

# Fuzzes every reader and loader of hambo-io for some seconds each; needs `cargo install cargo-fuzz`.
fuzz seconds="600":
    bash crates/hambo-io/fuzz/run {{seconds}}
