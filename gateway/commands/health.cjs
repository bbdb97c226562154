// Ends with 0 where the gateway or the worker of this host says that it is alive: a container's own check, for an image that has no
// shell. Only one of the two runs there; the other's port is refused.
const { get } = require('node:http');

const ports = [process.env.PORT || '8080', process.env.HELPER_WORK_PORT].filter(Boolean);

function isAlive(port) {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/healthz', timeout: 4000 }, (answer) =>
      resolve(answer.statusCode === 200),
    )
      .on('timeout', () => resolve(false))
      .on('error', () => resolve(false));
  });
}

Promise.all(ports.map(isAlive)).then((alive) => process.exit(alive.includes(true) ? 0 : 1));
