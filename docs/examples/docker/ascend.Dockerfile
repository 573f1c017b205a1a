# On top of an Ascend base image, whose CANN, torch and torch_npu stay as they are: only the core of
# npudoctor is installed, which depends on neither. BASE is the image that `npudoctor pair` names.
#   docker build -f docs/examples/docker/ascend.Dockerfile --build-arg BASE=... -t npudoctor-npu .
#   npudoctor container      # on the host: prints the docker run line for its devices and mounts
ARG BASE=quay.io/ascend/cann:8.5.0-910b-ubuntu22.04-py3.11
FROM ${BASE}
COPY . /opt/npudoctor
RUN python3 -m pip install --no-cache-dir /opt/npudoctor
# set_env.sh is sourced by the shell that starts Python, or torch_npu does not find CANN.
ENTRYPOINT ["bash", "-lc", "for e in /usr/local/Ascend/ascend-toolkit/set_env.sh /usr/local/Ascend/cann/set_env.sh; do [ -f $e ] && . $e; done; exec npudoctor \"$@\"", "npudoctor"]
CMD ["check"]
