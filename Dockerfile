# The package on a plain Python image; ROS 2 itself comes from PyPI wheels.
#
#   docker build -t inertial_estimation .
#   docker run --rm -v "$PWD:/data" inertial_estimation demo --output /data/demo
#   docker run --rm --network host inertial_estimation monitor
FROM python:3.12-slim

ENV PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore MPLBACKEND=Agg OMP_NUM_THREADS=1
COPY . /src
RUN pip install '/src[standalone,sim,tools,robots]' && rm -rf /src
RUN useradd --create-home robot
USER robot
WORKDIR /data
ENTRYPOINT ["inertial-estimation"]
CMD ["--help"]
