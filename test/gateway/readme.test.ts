import { expect } from 'chai';
import { codesIn, readText, rowsOf } from '../readme.js';
import { inPlayground, press } from './docs/playground/in-playground.js';
import { sampleMetrics } from './observability/sample.js';
import { follow } from './site/chromium.js';

describe('gateway/README', () => {
  it('names every metric, and no other', async () => {
    const { body } = await sampleMetrics().metrics.text();
    const real = [...body.matchAll(/^# TYPE (helper_gateway_\w+) /gm)].map((match) => match[1]);
    const documented = rowsOf(readText('gateway/README.md')).flatMap(([first]) => codesIn(first));
    expect(documented.filter((name) => name.startsWith('helper_gateway_'))).to.have.members(real);
  });
});

/** The pages at all; all that they do is in the long tests of their folders. */
describe('pages in a browser', function () {
  this.timeout(60_000);
  const chromium = inPlayground();

  it('send a call from the playground', async () => {
    const page = await chromium.open('/?helper=text/diff-two-strings');
    await page.getByLabel('a', { exact: true }).fill('one\ntwo');
    expect(await press(page)).to.include('200 ok');
    expect(await page.locator('.diff del').allTextContents()).to.deep.equal(['-one', '-two']);
    expect(chromium.faults).to.deep.equal([]);
  });

  it('sign the operator in at the site, who issues and revokes a key and sees its use', async () => {
    const { gateway } = chromium.gateway;
    const page = await chromium.open(new URL('/sign-in', gateway.connectUrl).href);
    await page.getByLabel('E-mail').fill(gateway.firstOperator?.email ?? '');
    await page.getByLabel('Password').fill(gateway.firstOperator?.password ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goto(new URL('/tenants/demo', gateway.connectUrl).href);
    await page.getByRole('textbox', { name: 'Label' }).fill('billing');
    await page.getByRole('button', { name: 'Issue key' }).click();
    const key = (await page.locator('#key').textContent()) ?? '';
    const codes = async () => {
      const { status, json } = await chromium.gateway.call('/text/remove-stopwords?text=the+cat', { key });
      return `${status} ${json.error?.code ?? 'ok'}`;
    };
    expect(await codes()).to.equal('200 ok');
    await follow(page.getByRole('link', { name: 'I have copied it' }));
    await page.getByRole('button', { name: 'Revoke…' }).click();
    await follow(page.getByRole('button', { name: 'Revoke for good' }));
    await page.getByText('The key was revoked').waitFor();
    expect(await codes()).to.equal('401 key_revoked');
    // Figures are some seconds behind. The call that was refused is nobody's.
    const cells = page.getByRole('row', { name: /text\/remove-stopwords/ }).getByRole('cell');
    const isCounted = async () => {
      await page.goto(new URL('/tenants/demo/usage', gateway.connectUrl).href);
      return (await cells.allTextContents()).includes('1');
    };
    while (!(await isCounted())) await page.waitForTimeout(500);
    expect(chromium.faults).to.deep.equal([]);
  });
});
