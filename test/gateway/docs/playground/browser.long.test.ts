import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import {
  describeAccess,
  describeFaults,
  describeFiles,
  describeMeasures,
  describeScreens,
  describeVisits,
} from './browser-suites.js';
import { copied, inPlayground, press } from './in-playground.js';

const run = promisify(execFile);

describe('playground: in a browser', function () {
  this.timeout(60_000);
  const chromium = inPlayground();

  it('shows a difference by its lines, by keyboard alone', async () => {
    const page = await chromium.open('/?helper=text/diff-two-strings');
    await page.getByLabel('a', { exact: true }).focus();
    await page.keyboard.type('one\ntwo');
    await page.keyboard.press('Tab');
    await page.keyboard.type('one\n2');
    await page.keyboard.press('Control+Enter');
    await page.locator('#status .state').waitFor();
    expect(await page.locator('.diff del').allTextContents()).to.deep.equal(['-two']);
    expect(await page.locator('.diff ins').allTextContents()).to.deep.equal(['+2']);
    expect(await page.locator('#status').textContent()).to.match(
      /^200 ok\d+ ms\d+ bytesrate: \d+ leftrequest [\w-]+$/,
    );
  });

  it('compares two empty texts, which are values', async () => {
    const page = await chromium.open('/?helper=text/diff-two-strings');
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
    const slider = page.getByLabel('Before and after');
    const cut = () => page.evaluate('document.querySelector(".overlaid").style.getPropertyValue("--cut")');
    await slider.press('End');
    expect(await cut()).to.equal('100%');
    await slider.press('Home');
    expect(await cut()).to.equal('0%');
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
    expect(await beside('count').inputValue()).to.equal('7');
    expect(await beside('opacity').inputValue()).to.equal('0.25');
    expect(await beside('ink').inputValue()).to.equal('#ff0000');
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
    const { key } = chromium.gateway;
    expect(page.url() + link + (await page.content())).not.to.include(key);
    const stored =
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state])';
    expect(await page.evaluate(stored)).not.to.include(key);

    const other = await chromium.open(new URL(link).pathname + new URL(link).search + new URL(link).hash);
    expect(await other.getByLabel('text').inputValue()).to.equal('the cat & the dog');
    expect(await other.getByLabel('also').inputValue()).to.equal('dog, cat');
  });

  it('shows the request in three languages, which work as they are copied', async () => {
    const page = await chromium.open(
      '/?helper=text/remove-stopwords#text=the%20%22cat%22%20isn%27t%20%24HOME',
    );
    const folder = mkdtempSync(join(tmpdir(), 'helper-gateway-'));
    const env = { PATH: process.env.PATH, KEY: chromium.gateway.key };
    const copiedAs = async (tab: string) => {
      await page.getByRole('tab', { name: tab }).click();
      expect(await page.locator('#snippet').textContent())
        .to.include('••••')
        .and.not.include('KEY');
      return copied(page.locator('#copy-snippet'));
    };
    const answerOf = async (program: string, args: string[]) =>
      (await run(program, args, { cwd: folder, env })).stdout;
    const answers = new Map([
      ['curl', await answerOf('sh', ['-c', await copiedAs('curl')])],
      ['fetch', await answerOf(process.execPath, ['--input-type=module', '-e', await copiedAs('fetch')])],
    ]);
    expect(await copiedAs('Python')).to.include('os.environ["KEY"]');
    rmSync(folder, { recursive: true });
    for (const [name, answer] of answers) expect(answer, name).to.match(/"cat\\?" {2}\$HOME/);
    await page.getByRole('tab', { name: 'Python' }).press('ArrowRight');
    expect(await page.getByRole('tab', { selected: true }).textContent()).to.equal('curl');
  });

  it('never renders what a helper gives as a page', async () => {
    const page = await chromium.open('/?helper=all/page');
    await press(page);
    expect(await page.locator('#answer pre').textContent()).to.include('<h1>Not a page</h1>');
    expect(await page.title()).to.include('all/page');
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

  describeFiles(chromium);
  describeFaults(chromium);
  describeMeasures(chromium);
  describeScreens(chromium);
  describeVisits(chromium);
  describeAccess(chromium);

  it('gave browsers nothing to complain of', () => {
    expect(chromium.faults).to.deep.equal([]);
  });

  it('logs no key and no value', () => {
    const log = JSON.stringify(chromium.gateway.log);
    expect(log).to.include('media/add-border').and.not.include(chromium.gateway.key);
  });
});
