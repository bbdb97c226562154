import { expect } from 'chai';
import { type InPlayground, press } from './in-playground.js';

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
    const said = await page.getByLabel('size.width').getAttribute('aria-describedby');
    expect(await page.locator(`[id="${said?.split(' ')[0]}"]`).textContent()).to.match(
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
    const said = () => page.locator('#key-problem').textContent();
    await key.fill('');
    expect(await press(page)).to.include('401 key_missing');
    expect(await page.locator('#answer .notice').textContent()).to.match(/^Send your API key/);
    expect(await said()).to.match(/^Paste your API key/);
    expect(await page.evaluate('document.activeElement.id')).to.equal('key');
    await key.fill('hg_wrong');
    expect(await page.locator(invalid).count()).to.equal(0);
    expect(await press(page)).to.include('401 key_invalid');
    expect(await said()).to.match(/^This API key is not known/);
    await key.fill('ключ');
    expect(await press(page)).to.equal('Not sent');
    expect(await said()).to.match(/^A key is made of plain letters/);
  });
}
