import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATHS = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** A mocha hook: skips what follows where there is no Chromium, or fails it with CI_REQUIRE_ALL=1. */
export function requireChromium(this: Mocha.Context): void {
  if (chromiumPath()) return;
  if (process.env.CI_REQUIRE_ALL === '1') throw new Error('Chromium is required and missing');
  console.log('      skipped: needs Chromium (CHROMIUM_PATH or /usr/bin/chromium), which is not here');
  this.skip();
}

function chromiumPath(): string | undefined {
  return PATHS.find((path) => path !== undefined && existsSync(path));
}

export function launchChromium(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (!executablePath) throw new Error('there is no Chromium');
  return chromium.launch({
    executablePath,
    // It talks to this machine alone.
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
