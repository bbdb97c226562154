import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { skipWithout } from '../../needs.js';

const script = fileURLToPath(new URL('../../../../gateway/commands/lower-encoders.cjs', import.meta.url));

/** Prints the nice values of the process's threads, the main thread's first. */
const print = `
const { readdirSync, readFileSync } = require('node:fs');
const niceOf = (thread) => {
  const stat = readFileSync('/proc/self/task/' + thread + '/stat', 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
};
const others = readdirSync('/proc/self/task').filter((thread) => Number(thread) !== process.pid);
console.log(JSON.stringify([process.pid, ...others].map(niceOf)));
`;

describe('libuv’s threads', () => {
  it('yield to the main thread, on Linux, and no others do', function () {
    if (process.platform !== 'linux') skipWithout(this, 'Linux');
    const { stdout } = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(script)});${print}`], {
      encoding: 'utf8',
      env: { ...process.env, UV_THREADPOOL_SIZE: '3' },
    });
    const [main = 0, ...others] = JSON.parse(stdout) as number[];
    expect(others.filter((nice) => nice > main)).to.have.lengthOf(3);
    expect(others.filter((nice) => nice === main)).to.have.lengthOf(others.length - 3);
  });
});
