# The command alone, for pipelines: `docker build -t hambo .`, then
# `docker run --rm -v "$PWD:/work" hambo certify --model model --policy policy.onnx --threshold 100`.
FROM rust:1.95-slim AS build
WORKDIR /source
COPY . .
RUN cargo install --locked --path crates/hambo-cli --root /built

FROM debian:trixie-slim
COPY --from=build /built/bin/hambo /usr/local/bin/hambo
USER 1000
WORKDIR /work
ENTRYPOINT ["hambo"]
