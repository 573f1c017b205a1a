# A laptop or CI machine without an NPU: everything but hardware (check --replay, migrate, simulate,
# smoke-test on the simulated NPU, profile, export).
#   docker build -f docs/examples/docker/laptop.Dockerfile -t npudoctor .
#   docker run --rm -v "$PWD:/work" npudoctor migrate --diff /work
FROM python:3.11-slim
COPY . /opt/npudoctor
# The second index has the small +cpu build of the torch in constraints.txt, which pip prefers to the CUDA build.
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
    -c /opt/npudoctor/constraints.txt '/opt/npudoctor[ppo,export,profile,report]'
WORKDIR /work
ENTRYPOINT ["npudoctor"]
