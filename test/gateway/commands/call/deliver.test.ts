import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeResult } from '../../../../gateway/commands/call/deliver.js';
import { GatewayError } from '../../../../gateway/errors.js';

const onLinux = process.platform === 'linux';

describe("a call's result on the disk", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'deliver-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** What is wrong with the option. */
  async function problemOf(option: 'out' | 'out-dir', path: string): Promise<string> {
    const error = await writeResult(path, 'result', { option }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(GatewayError);
    const { details = [] } = error as GatewayError;
    expect(details.map(({ field }) => field)).to.deep.equal([option]);
    return details[0]?.problem.replace('cannot be written to: ', '') ?? '';
  }

  it('is whole under its name, and nothing stands beside it', async () => {
    await writeResult(join(folder, 'a', 'b', 'x.png'), 'result', { option: 'out-dir' });
    expect(readFileSync(join(folder, 'a', 'b', 'x.png'), 'utf8')).to.equal('result');
    expect(readdirSync(join(folder, 'a', 'b'))).to.deep.equal(['x.png']);
  });

  it('is refused by the option, the place and the reason', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(await problemOf('out-dir', join(file, 'x.png'))).to.equal(`${file} is no folder`);
    expect(await problemOf('out-dir', join(file, 'a', 'x.png'))).to.equal(`${join(file, 'a')} is no folder`);
    const long = join(folder, 'a'.repeat(300), 'x.png');
    expect(await problemOf('out-dir', long)).to.equal(`the name is too long: ${long}`);
    const none = join(folder, 'none');
    expect(await problemOf('out', join(none, 'x.png'))).to.equal(`there is no folder ${none}`);
    symlinkSync(none, join(folder, 'link'));
    const link = join(folder, 'link');
    expect(await problemOf('out-dir', join(link, 'x.png'))).to.equal(`${link} is no folder`);
  });

  it('is refused where nothing can be made or kept', async function () {
    if (!onLinux) return this.skip();
    expect(await problemOf('out-dir', '/proc/nope/x.png')).to.equal('the folder /proc/nope cannot be made');
    expect(await problemOf('out', '/dev/full')).to.equal('there is no space left for /dev/full');
  });

  it('goes into what is no file, and never takes its place', async function () {
    if (!onLinux) return this.skip();
    await writeResult('/dev/null', 'result', { option: 'out' });
    expect(statSync('/dev/null').isCharacterDevice()).to.equal(true);
    // As `/dev/stdout` is where it is redirected to a file.
    const file = join(folder, 'redirected');
    const opened = openSync(file, 'w');
    await writeResult(`/dev/fd/${opened}`, 'result', { option: 'out' });
    closeSync(opened);
    expect(readFileSync(file, 'utf8')).to.equal('result');
    expect(readdirSync(folder)).to.deep.equal(['redirected']);
  });
});
