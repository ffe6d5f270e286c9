# One image for every stage: docker compose gives each its command. The servers run in images of their own.
FROM node:20-bookworm-slim AS base
# libfaiss and its BLAS are looked up at run time; python3 makes the models and builds the addon.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libfaiss-dev libopenblas-dev g++ git make python3 python3-pip python3-venv ca-certificates \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app

FROM base AS packages
COPY package.json package-lock.json .npmrc ./
COPY tools/stand-ins tools/stand-ins
# Otherwise onnxruntime-node would fetch a CUDA build.
ENV ONNXRUNTIME_NODE_INSTALL=skip
RUN npm ci --omit=dev

FROM base
COPY --from=packages /app/node_modules node_modules
COPY . .
# Models and the native library become part of the image, so that a container starts without the net.
ENV PRECEDENT_CACHE=/var/lib/precedent/cache
RUN node tools/bin/compile.mjs \
 && node --import tsx --input-type=module --eval 'await (await import("./tools/setup/setup.ts")).setUp({ servers: false })' \
 && mkdir -p /var/lib/precedent/stack && chown -R node:node /var/lib/precedent
USER node
EXPOSE 9464
ENTRYPOINT ["node", "tools/bin/precedent"]
CMD ["up"]
