# The Dibs server. Build: docker build -t dibs .
# Run on SQLite: docker run -p 127.0.0.1:3427:3427 -v dibs:/data dibs
# Run on PostgreSQL: compose.yaml
# Run on DynamoDB: docker run -p 127.0.0.1:3427:3427 -e DIBS_DATABASE_URL=dynamodb://eu-west-1/dibs dibs

FROM node:22-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY web/package.json web/
RUN npm ci --ignore-scripts
COPY . .
RUN npm pack --pack-destination /tmp

FROM node:22-bookworm-slim
COPY --from=build /tmp/dibs-*.tgz /tmp/
RUN npm install --global --no-audit --no-fund /tmp/dibs-*.tgz "@aws-sdk/client-dynamodb@3" && npm cache clean --force && rm /tmp/dibs-*.tgz
RUN mkdir /data && chown node:node /data

# HOME is in the volume: with PostgreSQL or DynamoDB, the admin token is in $HOME/.dibs.
ENV NODE_ENV=production HOME=/data DIBS_HOST=0.0.0.0 DIBS_PORT=3427 DIBS_DATABASE_URL=/data/dibs.db
USER node
WORKDIR /data
VOLUME /data
EXPOSE 3427
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.DIBS_PORT}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["dibs"]
CMD ["serve"]
