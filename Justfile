# What is checked, measured and soaked. `just` alone lists the recipes.

_default:
    @just --list

# Everything but the tests: format, lints, docs, supply chain, unused dependencies, benches compile.
ci: fmt clippy doc deny machete
    cargo build --workspace --benches --quiet

# The code is formatted.
fmt:
    cargo fmt --all --check

# No warning, anywhere.
clippy:
    cargo clippy --workspace --all-targets --quiet -- -D warnings

# The documentation, private items too, without a broken link.
doc:
    RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps --document-private-items --quiet

# Licences, banned crates, sources. (Advisories need a database from outside.)
deny:
    cargo deny --log-level error check bans licenses sources

# No dependency that nobody uses.
machete:
    cargo machete --with-metadata

# The figures of docs/performance.md.
bench:
    cargo build --profile dist
    cargo bench --workspace

# The long campaigns, whole. CI runs a tenth of them with a fixed seed.
soak:
    ATLAS_SOAK=1 PROPTEST_CASES=10000 PROPTEST_MAX_GLOBAL_REJECTS=1000000 cargo test --workspace --release --no-fail-fast
