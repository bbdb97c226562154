import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { toolFile } from '../../../needs.js';
import { copied, type InPlayground, press } from './in-playground.js';

/** From one page to another. */
export function describeVisits(chromium: InPlayground): void {
  it('keeps the key from page to page, and forgets it at a reload', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords#text=the+cat');
    await page.getByRole('link', { name: 'Helpers' }).first().click();
    await page.getByRole('heading', { name: 'Helpers', exact: true }).waitFor();
    await page.getByRole('link', { name: 'text/diff-two-strings' }).click();
    await page.getByLabel('b', { exact: true }).fill('new');
    expect(await page.title()).to.equal('text/diff-two-strings · helper-gateway');
    expect(await press(page)).to.include('200 ok');
    await page.goBack();
    await page.getByRole('heading', { name: 'Helpers', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'text/remove-stopwords' }).waitFor();
    expect(await page.getByLabel('text').inputValue()).to.equal('the cat');
    expect(await press(page)).to.include('200 ok');
    await page.reload();
    expect(await page.getByLabel('API key').inputValue()).to.equal('');
    expect(await page.getByLabel('text').inputValue()).to.equal('the cat');
  });

  it('accepts no input before its scripts have loaded, as it would be lost', async () => {
    const page = await chromium.open('/');
    let release = () => {};
    const wanted = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/playground.js', async (route) => {
      await wanted;
      await route.continue();
    });
    await page.goto(`${chromium.gateway.url}/?helper=all/page`, { waitUntil: 'commit' });
    const key = page.getByLabel('API key');
    await key.waitFor();
    await key.focus();
    await page.keyboard.type('early');
    expect(await key.inputValue()).to.equal('');
    release();
    await page.waitForLoadState();
    await key.focus();
    await page.keyboard.type(chromium.gateway.key);
    expect(await press(page)).to.include('200 ok');
  });

  it('removes a key from the address, and leaves the values', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords&ak=hg_typed#text=the+cat');
    const link = await copied(page.getByRole('button', { name: 'Copy link' }));
    expect(link).to.match(/\/\?helper=text\/remove-stopwords#text=the%20cat$/);
    expect(page.url()).not.to.include('hg_typed');
  });

  it('copies by plain http from another machine too, where browsers offer less', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords#text=the%20cat');
    await page.evaluate(
      'Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true })',
    );
    const button = page.getByRole('button', { name: 'Copy', exact: true });
    await button.press('Enter');
    // The button says so for a moment only.
    await page.locator('p.hidden[role=status]', { hasText: /^Copied$/ }).waitFor({ state: 'attached' });
    expect(await page.evaluate('document.activeElement.id')).to.equal('copy-snippet');
    await page.evaluate('delete navigator.clipboard');
    expect(await page.evaluate('navigator.clipboard.readText()')).to.match(/^curl .*"text":"the cat"/s);
  });

  it('follows a change of its helper while helpers are written, with key and values as they were', async () => {
    const page = await chromium.open('/');
    const summary = 'Gives a page that would run a script, were it one.';
    let isChanged = false;
    await page.route(/helper=/, async (route) => {
      const response = await route.fetch();
      const headers = response.headers();
      if (isChanged) headers.etag = '"another"';
      const text = (await response.text()).replace('<body>', '<body data-live>');
      const body = isChanged ? text.replaceAll(summary, 'Another sentence.') : text;
      await route.fulfill({ response, headers, body });
    });
    const asked = page.waitForResponse((response) => response.request().method() === 'HEAD');
    await page.goto(`${chromium.gateway.url}/?helper=all/page#`);
    await page.getByLabel('API key').fill('typed');
    await asked;
    isChanged = true;
    const again = async () => {
      await page.evaluate('dispatchEvent(new Event("focus"))');
      return page.getByText('Another sentence.').count();
    };
    while ((await again()) === 0) await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await page.getByLabel('API key').inputValue()).to.equal('typed');
  });
}

/** Drops files of these names on a field. */
function drop(page: Page, field: string, names: string[]): Promise<unknown> {
  return page.evaluate(`(() => {
    const data = new DataTransfer();
    for (const name of ${JSON.stringify(names)}) data.items.add(new File(['a,b'], name, { type: 'text/csv' }));
    const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector('[data-file="${field}"] .drop').dispatchEvent(event);
  })()`);
}

/** Files, whichever way they come. */
export function describeFiles(chromium: InPlayground): void {
  it('accepts a file that is dropped on its field or pasted, and removes it again', async () => {
    const page = await chromium.open('/?helper=all/controls');
    await drop(page, 'table', ['table.csv']);
    await page.getByLabel('title').fill('x');
    await page.getByLabel('text', { exact: true }).fill('one\ntwo');
    await page.getByLabel('size.width').fill('1');
    expect(await page.locator('#snippet').textContent()).to.include('-F table=@table.csv');
    await press(page);
    const { data } = JSON.parse((await page.locator('.view.json').textContent()) ?? '');
    expect([data.files, data.text]).to.deep.equal([['table'], 'one\ntwo']);
    await page.getByRole('button', { name: 'Remove table' }).click();
    expect(await page.locator('#snippet').textContent()).not.to.include('table.csv');
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(['…'], 'image.png', { type: 'image/png' }));
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    })()`);
    expect(await page.locator('#snippet').textContent()).to.include('-F logo=@image.png');
  });

  it('says that it uses the first of several, and drops it for a url', async () => {
    const page = await chromium.open('/?helper=all/controls');
    const snippet = page.locator('#snippet');
    await drop(page, 'table', ['one.csv', 'two.csv']);
    expect(await snippet.textContent())
      .to.include('table=@one.csv')
      .and.not.include('two.csv');
    const shown = page.locator('[data-file="table"] [data-chosen]');
    expect(await shown.textContent()).to.include('the first of 2 files, 3 bytes');
    await page.getByLabel('url of table').fill('https://example.com/table.csv');
    expect(await shown.isVisible()).to.equal(false);
    expect(await snippet.textContent())
      .to.include('https://example.com/table.csv')
      .and.not.include('one.csv');
    await drop(page, 'table', ['one.csv']);
    expect(await page.getByLabel('url of table').inputValue()).to.equal('');
  });
}

const invalid = '[aria-invalid="true"]';

/** What does not come to an answer, or not to the one that was wished for. */
export function describeFaults(chromium: InPlayground): void {
  it('puts each problem beside its field, and the focus on the first', async () => {
    const page = await chromium.open('/?helper=all/controls');
    await page.getByLabel('count').fill('many');
    await page.getByLabel('size.width').fill('0');
    await page.getByLabel('points').fill('[{"x": 1}, {"x": "far"}]');
    await page.getByLabel('shape.kind').selectOption('circle');
    await page.getByLabel('shape.r').fill('10');
    expect(await press(page)).to.include('400 invalid_input');
    const bad = await page.evaluate(
      `[...document.querySelectorAll('${invalid}')].map((input) => input.dataset.input)`,
    );
    expect(bad).to.deep.equal(['count', 'size.width', 'points', 'shape.r']);
    expect(await page.evaluate('document.activeElement.dataset.input')).to.equal('count');
    const shown = await page.getByLabel('size.width').getAttribute('aria-describedby');
    expect(await page.locator(`[id="${shown?.split(' ')[0]}"]`).textContent()).to.match(
      /^size\.width must be an integer from 1 to 9000/,
    );
    await page.getByLabel('count').fill('5');
    expect(await page.locator(invalid).count()).to.equal(3);
  });

  it('ends a call that runs at a second press, and not at the second half of a double one', async () => {
    const page = await chromium.open('/?helper=all/page');
    const held = new Promise<void>((resolve) => {
      page.route('**/all/page', () => resolve());
    });
    await page.getByRole('button', { name: 'Send' }).click();
    await held;
    await page.getByRole('button', { name: 'Cancel' }).first().click();
    await page.getByText('Cancelled.').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Send' }).dblclick();
    await page.getByText('200 ok').waitFor();
  });

  it('leaves no answer standing where none came', async () => {
    const page = await chromium.open('/?helper=all/page');
    await press(page);
    await page.route('**/all/page', (route) => route.abort());
    expect(await press(page))
      .to.include('No answer')
      .and.include('could not be reached');
    expect(await page.locator('#answer').textContent()).to.equal('');
    await page.route('**/all/page', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
    expect(await press(page)).to.include('502 not from the gateway');
  });

  it('says what is wrong with a key, beside it', async () => {
    const page = await chromium.open('/?helper=all/page');
    const key = page.getByLabel(/key/i);
    const shown = () => page.locator('#key-problem').textContent();
    await key.fill('');
    expect(await press(page)).to.include('401 key_missing');
    expect(await page.locator('#answer .notice').textContent()).to.match(/^Send your API key/);
    expect(await shown()).to.match(/^Paste your API key/);
    expect(await page.evaluate('document.activeElement.id')).to.equal('key');
    await key.fill('hg_wrong');
    expect(await page.locator(invalid).count()).to.equal(0);
    expect(await press(page)).to.include('401 key_invalid');
    expect(await shown()).to.match(/^This API key is not known/);
    await key.fill('ключ');
    expect(await press(page)).to.equal('Not sent');
    expect(await shown()).to.match(/^A key is made of plain letters/);
  });
}

const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const auto = (page: Page, name: string) =>
  page.locator(`[data-path="${name}"]`).getByRole('button', { name: 'Auto' });
const snippet = async (page: Page) => (await page.locator('#snippet').textContent()) ?? '';

/** Lengths, what may be left to the helper, and what goes with other values alone. */
export function describeMeasures(chromium: InPlayground): void {
  it('leaves a choice to the helper by a button, by keyboard, and undoes it', async () => {
    const page = await chromium.open('/?helper=all/measures');
    for (const name of ['ink', 'size']) {
      expect(await auto(page, name).getAttribute('aria-pressed'), name).to.equal('true');
    }
    expect(await auto(page, 'paper').count()).to.equal(0);
    await field(page, 'ink').fill('dark red');
    expect(await auto(page, 'ink').getAttribute('aria-pressed')).to.equal('false');
    await auto(page, 'ink').press('Enter');
    expect(await field(page, 'ink').inputValue()).to.equal('auto');
    expect(await snippet(page)).not.to.include('ink');
    await auto(page, 'ink').press('Space');
    expect(await field(page, 'ink').inputValue()).to.equal('dark red');
    expect(await page.evaluate('document.activeElement.id')).to.equal('p-ink');
    // Emptied, it is the default, as it says.
    await field(page, 'ink').fill('');
    expect(await auto(page, 'ink').getAttribute('aria-pressed')).to.equal('true');
  });

  it('sends lengths as they were typed, and says what is wrong with one beside it', async () => {
    const page = await chromium.open('/?helper=all/measures');
    await field(page, 'margin').fill('12.50%');
    await field(page, 'width').fill('7');
    await field(page, 'size').fill('Auto');
    expect(await press(page)).to.include('200 ok');
    expect(await page.locator('.view.json').textContent())
      .to.include('"margin": "12.5%"')
      .and.to.include('"width": 7,')
      .and.to.include('"size": "auto"');
    await field(page, 'width').fill('20px');
    expect(await press(page)).to.include('400');
    expect(await page.locator('#p-width-problem').textContent()).to.equal(
      'width must be a whole number of pixels from 0 to 5000, or per cent such as "5%", but is the string "20px"; write 20',
    );
  });

  it('never sends what makes no sense beside the other values, and says what it is for', async () => {
    const page = await chromium.open('/?helper=all/measures');
    expect(await field(page, 'quality').isDisabled()).to.equal(true);
    expect(await page.locator('#p-quality-hint').textContent()).to.include(
      'Only for the formats jpg, webp, avif and same.',
    );
    await field(page, 'format').selectOption('jpg');
    await field(page, 'quality').fill('70');
    expect(await snippet(page)).to.include('"format":"jpg","quality":70');
    expect(await press(page)).to.include('200 ok');
    await field(page, 'quality').fill('700');
    expect(await press(page)).to.include('400');
    await field(page, 'format').selectOption('png');
    expect(await field(page, 'quality').isDisabled()).to.equal(true);
    expect(await page.locator('#p-quality-problem').isVisible()).to.equal(false);
    expect(await snippet(page)).not.to.include('quality');
    expect(await press(page)).to.include('200 ok');
    await field(page, 'wrap').check();
    expect(await field(page, 'lines').isDisabled()).to.equal(false);
  });

  it('wakes these up for an example, and lets them rest at a reset', async () => {
    const page = await chromium.open('/?helper=all/measures');
    await page.getByRole('button', { name: 'Small and wrapped' }).press('Enter');
    expect(await field(page, 'quality').inputValue()).to.equal('70');
    for (const name of ['quality', 'lines']) {
      expect(await field(page, name).isDisabled(), name).to.equal(false);
    }
    expect(await press(page)).to.include('200 ok');
    await page.getByRole('button', { name: 'Reset' }).press('Enter');
    for (const name of ['quality', 'lines']) {
      expect(await field(page, name).isDisabled(), name).to.equal(true);
    }
  });
}

/** What is seen on other screens than most. */
export function describeScreens(chromium: InPlayground): void {
  it('has nothing of its tables out of sight on a phone', async () => {
    const page = await chromium.open('/?helper=media/add-border', {
      viewport: { width: 360, height: 740 },
    });
    const beyond = await page.evaluate(
      `[...document.querySelectorAll('.facts-section td, .facts-section th')]
        .filter((cell) => cell.closest('thead') === null && cell.getClientRects().length > 0)
        .filter((cell) => cell.getBoundingClientRect().right > innerWidth)
        .map((cell) => cell.textContent)`,
    );
    expect(beyond).to.deep.equal([]);
    const row = page.getByRole('row', { name: 'width a whole number of pixels from 0 to 5000' });
    expect(await row.isVisible()).to.equal(true);
  });

  it('shows no form where no script makes it work', async () => {
    const page = await chromium.open('/', { javaScriptEnabled: false });
    await page.goto(`${chromium.gateway.url}/?helper=media/add-border`);
    expect(await page.locator('#try').isVisible()).to.equal(false);
    expect(await page.locator('.plain-call').isVisible()).to.equal(true);
    expect(await page.getByRole('heading', { name: 'Parameters' }).isVisible()).to.equal(true);
  });
}

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** What is dark differs from what is light in its colours, and what is narrow in its widths. */
const ways = [
  { way: 'in light', colorScheme: 'light', width: 1280, rules: '{}' },
  {
    way: 'in dark',
    colorScheme: 'dark',
    width: 1280,
    rules: "{ runOnly: ['color-contrast', 'link-in-text-block'] }",
  },
  {
    way: 'on a phone',
    colorScheme: 'light',
    width: 360,
    rules: "{ runOnly: ['scrollable-region-focusable', 'target-size'] }",
  },
] as const;

/** What axe finds wrong with a page as it is, each way, and whether it is wider than the window. */
async function lookAt(page: Page, name: string, axeSource: string): Promise<string[]> {
  const found: string[] = [];
  await page.evaluate(axeSource);
  for (const { way, colorScheme, width, rules } of ways) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    const violations = (await page.evaluate(
      `axe.run(document, { resultTypes: ['violations'], ...${rules} }).then((r) => r.violations)`,
    )) as Violation[];
    const wider = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
    for (const { id, nodes } of violations) {
      found.push(`${name} ${way}: ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
    }
    if (wider > 0) found.push(`${name} ${way}: ${wider} px wider than the window`);
  }
  return found;
}

/** One helper for each kind of answer: data, a difference, a text with words removed, pictures, bytes. */
const answered = [
  'all/controls',
  'all/measures',
  'text/diff-two-strings',
  'text/remove-stopwords',
  'media/add-watermark',
  'all/page',
];

/** To people who cannot see the pages, or not well, or on a small screen. */
export function describeAccess(chromium: InPlayground): void {
  it('has nothing that axe finds wrong, on any kind of page, light, dark or narrow', async function () {
    const axeSource = readFileSync(toolFile(this, 'axe-core/axe.min.js'), 'utf8');
    // The page's own policy keeps axe out, so it is set aside here and only here.
    const page = await chromium.open('/', { bypassCSP: true });
    const found = await lookAt(page, 'index', axeSource);
    await page.goto(`${chromium.gateway.url}/?helper=nothing`);
    found.push(...(await lookAt(page, 'unknown helper', axeSource)));
    for (const id of answered) {
      await page.goto(`${chromium.gateway.url}/?helper=${id}`);
      await page.getByLabel('API key').fill(chromium.gateway.key);
      if (id === 'all/controls') {
        await press(page);
        found.push(...(await lookAt(page, `${id}, called with nothing`, axeSource)));
      }
      const example = page.locator('[data-example]').first();
      if ((await example.count()) > 0) await example.click();
      if (id.startsWith('media/')) await page.locator('[data-chosen]:visible').waitFor();
      await press(page);
      found.push(...(await lookAt(page, `${id}, its example called`, axeSource)));
    }
    expect(found).to.deep.equal([]);
  });
}
