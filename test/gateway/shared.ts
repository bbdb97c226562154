import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fixture } from '../fixtures.js';
import { type EffectHelpers, writeEffectHelpers } from './effect-helpers.js';
import { operatorToken } from './gate.js';
import { startTestGateway, type TestGateway } from './harness.js';
import { master } from './signing/signing.js';

/** A gateway for all files of a process that vary input only: a start costs more than most of them. */
export interface SharedGateway {
  api: TestGateway;
  /** Where its database is. */
  dataDir: string;
  /** What stands for the web: the one origin that the gateway downloads from. */
  web: Server;
  origin: string;
  /** Its helpers with effects. */
  effects: EffectHelpers;
}

export const maxTextBytes = 20_000;
export const maxImageBytes = 150_000;

/** What contextual helpers may not have in the log. */
export const contextKey = 'very-secret-key';

const plugins = [
  'alternatives',
  'author',
  'context',
  'deadlines',
  'files',
  'good',
  'outputs',
  'results',
  'reuse',
];

let sharing: Promise<SharedGateway> | undefined;
let folder: string | undefined;

/** The gateway that is shared, started where it is not yet; from now on `answer` is the web. */
export async function shareGateway(answer?: RequestListener): Promise<SharedGateway> {
  sharing ??= start();
  const shared = await sharing;
  shared.web.removeAllListeners('request');
  if (answer) shared.web.on('request', answer);
  return shared;
}

async function start(): Promise<SharedGateway> {
  const web = createServer().listen(0, '127.0.0.1');
  await once(web, 'listening');
  const origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  folder = await mkdtemp(join(tmpdir(), 'shared-'));
  const effects = await writeEffectHelpers(folder);
  const folders = [...plugins.map((name) => fixture(`plugins/${name}`)), effects.plugins];
  const dataDir = join(folder, 'data');
  const api = await startTestGateway({
    HELPER_DATA_DIR: dataDir,
    HELPER_PLUGINS: folders.join(':'),
    HELPER_SIGNING_SECRET: master,
    HELPER_TASK_TIMEOUT_MS: '600000',
    HELPER_MAX_TEXT_BYTES: String(maxTextBytes),
    HELPER_MAX_IMAGE_BYTES: String(maxImageBytes),
    HELPER_SOURCE_ORIGINS: origin,
    HELPER_OPERATOR_TOKEN: operatorToken,
    HELPER_CORS_ORIGINS: 'https://page.example,https://app.example',
    TEST_CONTEXT_KEY: contextKey,
    TEST_CONTEXT_REGION: '',
    TRANSLATE_API_KEY: 'top-secret',
    TRANSLATE_URL: `${origin}/translate`,
  });
  return { api, dataDir, web, origin, effects };
}

after(async () => {
  const shared = await sharing?.catch(() => undefined);
  await shared?.api.close();
  shared?.web.closeAllConnections();
  shared?.web.close();
  if (folder) await rm(folder, { recursive: true });
});
