import { execFile } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { copied, inPlayground, press } from './in-playground.js';

const run = promisify(execFile);

/** Drops files of these names on a field. */
function drop(page: Page, field: string, names: string[]): Promise<unknown> {
  return page.evaluate(`(() => {
    const data = new DataTransfer();
    for (const name of ${JSON.stringify(names)}) data.items.add(new File(['a,b'], name, { type: 'text/csv' }));
    const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector('[data-file="${field}"] .drop').dispatchEvent(event);
  })()`);
}

const invalid = '[aria-invalid="true"]';

const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const auto = (page: Page, name: string) =>
  page.locator(`[data-path="${name}"]`).getByRole('button', { name: 'Auto' });
const snippet = async (page: Page) => (await page.locator('#snippet').textContent()) ?? '';

describe('playground: in a browser', function () {
  this.timeout(60_000);
  const chromium = inPlayground();

  it('shows a difference by its lines, by keyboard alone', async () => {
    const page = await chromium.open('/?helper=text/diff-two-strings');
    await field(page, 'a').focus();
    await page.keyboard.type('one\ntwo');
    await page.keyboard.press('Tab');
    await page.keyboard.type('one\n2');
    await page.keyboard.press('Control+Enter');
    await page.locator('#status .state').waitFor();
    expect(await page.locator('.diff :is(del, ins)').allTextContents()).to.deep.equal(['-two', '+2']);
    const status = await page.locator('#status').textContent();
    expect(status).to.match(/^200 ok\d+ ms\d+ bytesrate: \d+ leftrequest [\w-]+$/);
    // Two empty texts are values as well.
    for (const name of ['a', 'b']) await field(page, name).fill('');
    expect(await press(page)).to.include('200 ok');
    expect(await page.locator('#answer').textContent()).to.include('No difference.');
  });

  it('marks the words that went', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords');
    await page.getByRole('button', { name: 'Without losing the negation' }).click();
    await press(page);
    expect(await page.locator('.marked').textContent()).to.equal('This is not a test');
    expect((await page.locator('.marked del').allTextContents()).join()).to.equal('This,is,a');
  });

  it('draws a border on a sample picture and lays both over each other, by keyboard', async () => {
    const page = await chromium.open('/?helper=media/add-border');
    await page.getByRole('button', { name: 'Landscape' }).press('Enter');
    await page.locator('[data-chosen]:visible').waitFor();
    await page.getByLabel('width').fill('7');
    await page.getByLabel('color').fill('dusty rose');
    expect(await press(page)).to.include('200 ok');
    const facts = await page.locator('.picture-facts').textContent();
    expect(facts).to.match(/Before640 × 420 px, JPEG.*After654 × 434 px, PNG/);
    for (const [pressed, cut] of Object.entries({ End: '100%', Home: '0%' })) {
      await page.getByLabel('Before and after').press(pressed);
      expect(await page.locator('.overlaid').getAttribute('style')).to.include(`--cut: ${cut}`);
    }
    expect(await page.locator('#answer a[download]').getAttribute('download')).to.equal('add-border.png');
  });

  it('fills an example in with the picture that it needs, and writes the watermark', async () => {
    const page = await chromium.open('/?helper=media/add-watermark');
    await page.getByRole('button', { name: 'A logo' }).press('Enter');
    const chosen = page.locator('[data-chosen]:visible');
    await chosen.nth(1).waitFor();
    expect(await page.getByLabel('position').inputValue()).to.equal('top-left');
    expect(await press(page)).to.include('200 ok');
    // A text replaces the logo, in the form too.
    await page.getByRole('button', { name: 'In lines' }).press('Enter');
    await chosen.nth(1).waitFor({ state: 'detached' });
    expect(await press(page)).to.include('200 ok');
    await page.getByLabel('format').selectOption('webp');
    await press(page);
    expect(await page.locator('.picture-facts').textContent()).to.include('WEBP');
    await page.getByLabel('dryrun').check();
    expect(await press(page)).to.include('200 ok');
    expect(await page.locator('.view.json').textContent()).to.include('"operation": "add-watermark"');
  });

  it('gives every kind of parameter to the helper as it was meant', async () => {
    const page = await chromium.open('/?helper=all/controls');
    await page.getByRole('button', { name: 'Everything' }).click();
    expect(await press(page)).to.include('200 ok');
    const sent = (await page.locator('.view.json').textContent()) ?? '';
    const example = chromium.gateway.gateway.registry.get('all/controls')?.declaration.examples[0]?.input;
    expect(JSON.parse(sent).data).to.deep.include({ ...example, mode: 'fast' });
    await page.getByRole('button', { name: 'Reset' }).click();
    expect(await page.getByLabel('words').inputValue()).to.equal('a, b');
    expect(await page.getByLabel('title').inputValue()).to.equal('');
  });

  it('keeps slider, picker and text alike', async () => {
    const page = await chromium.open('/?helper=all/controls#count=7&opacity=25%25&ink=%23ff0000');
    const beside = (id: string) => page.locator(`[data-for="p-${id}"]`);
    for (const [id, value] of Object.entries({ count: '7', opacity: '0.25', ink: '#ff0000' }))
      expect(await beside(id).inputValue()).to.equal(value);
    await beside('count').press('ArrowRight');
    expect(await page.getByLabel('count').inputValue()).to.equal('8');
    await beside('ink').fill('#00ff00');
    expect(await page.getByLabel('ink').inputValue()).to.equal('#00ff00');
  });

  it('shares a try by its link, goes back to the one before, and never shares the key', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords');
    await page.getByLabel('text').fill('the cat & the dog');
    await page.getByLabel('also').fill('dog, cat');
    await press(page);
    const link = await copied(page.getByRole('button', { name: 'Copy link' }));
    expect(link).to.match(/#text=the%20cat%20%26%20the%20dog&also=dog%2C%20cat$/);
    await page.getByLabel('text').fill('another');
    await page.waitForURL(/#text=another/);
    await page.goBack();
    expect(await page.getByLabel('text').inputValue()).to.equal('the cat & the dog');
    const places = '[{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state]';
    const stored = await page.evaluate(`JSON.stringify(${places})`);
    expect(page.url() + link + stored + (await page.content())).not.to.include(chromium.gateway.key);
    const other = await chromium.open(link.replace('#', '&ak=hg_typed#'));
    expect(await other.getByLabel('text').inputValue()).to.equal('the cat & the dog');
    expect(await other.getByLabel('also').inputValue()).to.equal('dog, cat');
    // A key in the address goes, and the values stay.
    expect(await copied(other.getByRole('button', { name: 'Copy link' }))).to.equal(link);
    expect(other.url()).not.to.include('hg_typed');
  });

  it('shows the request in three languages, which work as they are copied', async () => {
    const text = encodeURIComponent('the "cat" isn\'t $HOME');
    const page = await chromium.open(`/?helper=text/remove-stopwords#text=${text}`);
    const folder = mkdtempSync(join(tmpdir(), 'helper-gateway-'));
    const env = { PATH: process.env.PATH, KEY: chromium.gateway.key };
    const copiedAs = async (tab: string) => {
      await page.getByRole('tab', { name: tab }).click();
      expect(await snippet(page)).to.match(/^(?!.*KEY).*••••/s);
      return copied(page.locator('#copy-snippet'));
    };
    for (const [tab, program, ...options] of [
      ['curl', 'sh', '-c'],
      ['fetch', process.execPath, '--input-type=module', '-e'],
    ] as const) {
      const { stdout } = await run(program, [...options, await copiedAs(tab)], { cwd: folder, env });
      expect(stdout, tab).to.match(/"cat\\?" {2}\$HOME/);
    }
    expect(await copiedAs('Python')).to.include('os.environ["KEY"]');
    rmSync(folder, { recursive: true });
    await page.getByRole('tab', { name: 'Python' }).press('ArrowRight');
    expect(await page.getByRole('tab', { selected: true }).textContent()).to.equal('curl');
  });

  it('brings less than 60 kB along at its first load, samples not among them', async () => {
    const page = await chromium.open('/');
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.clearBrowserCache');
    let bytes = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.goto(`${chromium.gateway.url}/?helper=media/add-watermark`, { waitUntil: 'networkidle' });
    expect(bytes).to.be.within(10_000, 60_000);
  });

  it('keeps the key from page to page, and forgets it at a reload', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords#text=the+cat');
    await page.getByRole('link', { name: 'Helpers' }).first().click();
    await page.getByRole('heading', { name: 'Helpers', exact: true }).waitFor();
    await page.getByRole('link', { name: 'text/diff-two-strings' }).click();
    await field(page, 'b').fill('new');
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
    const gate = new EventEmitter();
    const opened = once(gate, 'open');
    await page.route('**/playground.js', (route) => opened.then(() => route.continue()));
    await page.goto(`${chromium.gateway.url}/?helper=all/page`, { waitUntil: 'commit' });
    const key = page.getByLabel('API key');
    await key.waitFor();
    await key.focus();
    await page.keyboard.type('early');
    expect(await key.inputValue()).to.equal('');
    gate.emit('open');
    await page.waitForLoadState();
    await key.focus();
    await page.keyboard.type(chromium.gateway.key);
    expect(await press(page)).to.include('200 ok');
  });

  it('copies by plain http from another machine too, where browsers offer less', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords#text=the%20cat');
    const absent = '{ value: undefined, configurable: true }';
    await page.evaluate(`Object.defineProperty(navigator, "clipboard", ${absent})`);
    await page.getByRole('button', { name: 'Copy', exact: true }).press('Enter');
    // The button says so for a moment only.
    await page.locator('p.hidden[role=status]', { hasText: /^Copied$/ }).waitFor({ state: 'attached' });
    expect(await page.evaluate('document.activeElement.id')).to.equal('copy-snippet');
    await page.evaluate('delete navigator.clipboard');
    expect(await page.evaluate('navigator.clipboard.readText()')).to.match(/^curl .*"text":"the cat"/s);
  });

  it('follows a change of its helper while helpers are written, with key and values as they were', async () => {
    const page = await chromium.open('/');
    let changed: [string, string] = ['', ''];
    await page.route(/helper=/, async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers(), etag: `"${changed}"` };
      const text = (await response.text()).replace('<body>', '<body data-live>');
      await route.fulfill({ response, headers, body: text.replace(...changed) });
    });
    const asked = page.waitForResponse((response) => response.request().method() === 'HEAD');
    await page.goto(`${chromium.gateway.url}/?helper=all/page#`);
    await page.getByLabel('API key').fill('typed');
    await asked;
    changed = ['Gives a page that would run', 'Another sentence'];
    while ((await page.getByText('Another sentence').count()) === 0) {
      await page.evaluate('dispatchEvent(new Event("focus")), new Promise(requestAnimationFrame)');
    }
    expect(await page.getByLabel('API key').inputValue()).to.equal('typed');
  });

  it('accepts a file that is dropped on its field or pasted, and removes it again', async () => {
    const page = await chromium.open('/?helper=all/controls');
    await drop(page, 'table', ['table.csv']);
    await page.getByLabel('title').fill('x');
    await page.getByLabel('text', { exact: true }).fill('one\ntwo');
    await page.getByLabel('size.width').fill('1');
    expect(await snippet(page)).to.include('-F table=@table.csv');
    await press(page);
    const { data } = JSON.parse((await page.locator('.view.json').textContent()) ?? '');
    expect([data.files, data.text]).to.deep.equal([['table'], 'one\ntwo']);
    await page.getByRole('button', { name: 'Remove table' }).click();
    expect(await snippet(page)).not.to.include('table.csv');
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(['…'], 'image.png', { type: 'image/png' }));
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    })()`);
    expect(await snippet(page)).to.include('-F logo=@image.png');
  });

  it('says that it uses the first of several, and drops it for a url', async () => {
    const page = await chromium.open('/?helper=all/controls');
    await drop(page, 'table', ['one.csv', 'two.csv']);
    expect(await snippet(page)).to.match(/table=@one\.csv(?!.*two)/s);
    const shown = page.locator('[data-file="table"] [data-chosen]');
    expect(await shown.textContent()).to.include('the first of 2 files, 3 bytes');
    await page.getByLabel('url of table').fill('https://example.com/table.csv');
    expect(await shown.isVisible()).to.equal(false);
    expect(await snippet(page)).to.match(/^(?!.*one\.csv).*https:\/\/example\.com\/table\.csv/s);
    await drop(page, 'table', ['one.csv']);
    expect(await page.getByLabel('url of table').inputValue()).to.equal('');
  });

  it('puts each problem beside its field, and the focus on the first', async () => {
    const page = await chromium.open('/?helper=all/controls');
    await page.getByLabel('count').fill('many');
    await page.getByLabel('size.width').fill('0');
    await page.getByLabel('points').fill('[{"x": 1}, {"x": "far"}]');
    await page.getByLabel('shape.kind').selectOption('circle');
    await page.getByLabel('shape.r').fill('10');
    expect(await press(page)).to.include('400 invalid_input');
    const inputs = `[...document.querySelectorAll('${invalid}')]`;
    const bad = await page.evaluate(`${inputs}.map((input) => input.dataset.input)`);
    expect(bad).to.deep.equal(['count', 'size.width', 'points', 'shape.r']);
    expect(await page.evaluate('document.activeElement.dataset.input')).to.equal('count');
    const shown = await page.getByLabel('size.width').getAttribute('aria-describedby');
    const problem = await page.locator(`[id="${shown?.split(' ')[0]}"]`).textContent();
    expect(problem).to.match(/^size\.width must be an integer from 1 to 9000/);
    await page.getByLabel('count').fill('5');
    expect(await page.locator(invalid).count()).to.equal(3);
  });

  it('ends a call that runs at a second press, and not at the second half of a double one', async () => {
    const page = await chromium.open('/?helper=all/page');
    const held = page.waitForRequest('**/all/page');
    await page.route('**/all/page', () => undefined);
    await page.getByRole('button', { name: 'Send' }).click();
    await held;
    await page.getByRole('button', { name: 'Cancel' }).first().click();
    await page.getByText('Cancelled.').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Send' }).dblclick();
    await page.getByText('200 ok').waitFor();
  });

  it('never renders what a helper gives as a page, and removes it where the next call has no answer', async () => {
    const page = await chromium.open('/?helper=all/page');
    await press(page);
    expect(await page.locator('#answer pre').textContent()).to.include('<h1>Not a page</h1>');
    expect(await page.title()).to.include('all/page');
    await page.route('**/all/page', (route) => route.abort());
    expect(await press(page)).to.match(/No answer.*could not be reached/s);
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

  it('leaves a choice to the helper by a button, by keyboard, and undoes it', async () => {
    const page = await chromium.open('/?helper=all/measures');
    const isAuto = (name: string) => auto(page, name).getAttribute('aria-pressed');
    expect([await isAuto('ink'), await isAuto('size')]).to.deep.equal(['true', 'true']);
    expect(await auto(page, 'paper').count()).to.equal(0);
    await field(page, 'ink').fill('dark red');
    expect(await isAuto('ink')).to.equal('false');
    await auto(page, 'ink').press('Enter');
    expect(await field(page, 'ink').inputValue()).to.equal('auto');
    expect(await snippet(page)).not.to.include('ink');
    await auto(page, 'ink').press('Space');
    expect(await field(page, 'ink').inputValue()).to.equal('dark red');
    expect(await page.evaluate('document.activeElement.id')).to.equal('p-ink');
    // Emptied, it is the default, as it says.
    await field(page, 'ink').fill('');
    expect(await isAuto('ink')).to.equal('true');
  });

  it('sends lengths as they were typed, and says what is wrong with one beside it', async () => {
    const page = await chromium.open('/?helper=all/measures');
    const typed = { margin: '12.50%', width: '7', size: 'Auto' };
    for (const [name, text] of Object.entries(typed)) await field(page, name).fill(text);
    expect(await press(page)).to.include('200 ok');
    const { data } = JSON.parse((await page.locator('.view.json').textContent()) ?? '');
    expect(data).to.include({ margin: '12.5%', width: 7, size: 'auto' });
    await field(page, 'width').fill('20px');
    expect(await press(page)).to.include('400');
    expect(await page.locator('#p-width-problem').textContent()).to.equal(
      'width must be a whole number of pixels from 0 to 5000, or per cent such as "5%", but is the string "20px"; write 20',
    );
  });

  it('never sends what makes no sense beside the other values, and says what it is for', async () => {
    const page = await chromium.open('/?helper=all/measures');
    const isResting = (name: string) => field(page, name).isDisabled();
    expect(await isResting('quality')).to.equal(true);
    const hint = await page.locator('#p-quality-hint').textContent();
    expect(hint).to.include('Only for the formats jpg, webp, avif and same.');
    await field(page, 'format').selectOption('jpg');
    await field(page, 'quality').fill('70');
    expect(await snippet(page)).to.include('"format":"jpg","quality":70');
    expect(await press(page)).to.include('200 ok');
    await field(page, 'quality').fill('700');
    expect(await press(page)).to.include('400');
    await field(page, 'format').selectOption('png');
    expect(await isResting('quality')).to.equal(true);
    expect(await page.locator('#p-quality-problem').isVisible()).to.equal(false);
    expect(await snippet(page)).not.to.include('quality');
    expect(await press(page)).to.include('200 ok');
    await field(page, 'wrap').check();
    expect(await isResting('lines')).to.equal(false);
    // An example wakes them up, and a reset lets them rest.
    await page.getByRole('button', { name: 'Small and wrapped' }).press('Enter');
    expect(await field(page, 'quality').inputValue()).to.equal('70');
    expect([await isResting('quality'), await isResting('lines')]).to.deep.equal([false, false]);
    expect(await press(page)).to.include('200 ok');
    await page.getByRole('button', { name: 'Reset' }).press('Enter');
    expect([await isResting('quality'), await isResting('lines')]).to.deep.equal([true, true]);
  });

  it('gives browsers no reason for an error, and logs no key and no value', () => {
    expect(chromium.faults).to.deep.equal([]);
    const log = JSON.stringify(chromium.gateway.log);
    expect(log).to.include('media/add-border').and.not.include(chromium.gateway.key);
  });
});
