import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { rejection } from '../download/raw-server.js';
import { startGatewayProcess } from '../harness.js';

/** In a process of its own, which a plugin ends here. */
describe('the examples that a start runs', function () {
  // Processes start, one after the other.
  this.timeout(30_000);

  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function start(handler: string) {
    await writeFile(
      join(folder, 'sly.mjs'),
      `export default {
        summary: 'Misbehaves.', input: { type: 'object', properties: {} },
        examples: [{ input: {} }], inline: () => true, handler: ${handler},
      };`,
    );
    return startGatewayProcess({
      HELPER_DATA_DIR: join(folder, '.data'),
      HELPER_PLUGINS: folder,
      HELPER_TASK_TIMEOUT_MS: '1000',
    });
  }

  it('do not end it in silence where one never settles', async () => {
    const gateway = await start('() => new Promise(() => {})');
    expect(await gateway.stop()).to.equal(0);
    expect(gateway.written()).to.include('example failed').and.include('did not settle');
  });

  it('are named where one ends the process', async () => {
    const { message } = await rejection(start('() => process.exit(0)'));
    expect(message).to.match(/^ended with 1: .*while running an example of the plugin .*sly\.mjs/);
  });
});
