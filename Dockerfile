# Malaprop on a CPU. The image holds the program; models, assets and runs lie in /work, which is yours.
#   docker build -t malaprop .
#   docker run --rm -v "$PWD:/work" malaprop audit --victim my_model:predict --data reviews.csv --out runs/mine
FROM python:3.11-slim
# where the CPU build of torch lies, as "--index-url ADDRESS"; without it pip may fetch gigabytes of CUDA
ARG TORCH_FROM=""
COPY constraints.txt pyproject.toml README.md LICENSE /src/
COPY malaprop /src/malaprop
RUN pip install --no-cache-dir --constraint /src/constraints.txt ${TORCH_FROM} torch \
    && pip install --no-cache-dir --constraint /src/constraints.txt '/src[torch,hf,sklearn,parquet]' \
    && rm -rf /src
ENV MALAPROP_CACHE=/work/.malaprop
WORKDIR /work
ENTRYPOINT ["malaprop"]
CMD ["audit"]
