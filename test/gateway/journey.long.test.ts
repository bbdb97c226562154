import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { startTestGateway, type TestGateway } from './harness.js';
import { follow, launchChromium, requireChromium } from './site/chromium.js';

/** The whole product as its people meet it: an operator, a member they invite, and a program that calls the API. */
describe('from the first sign-in to the usage chart', function () {
  this.timeout(300_000);
  let api: TestGateway;
  let browser: Browser;

  before(async function () {
    requireChromium.call(this);
    api = await startTestGateway();
    browser = await launchChromium();
  });

  after(async () => {
    await browser?.close();
    await api?.close();
  });

  async function callWith(key: string): Promise<string> {
    const { status, json } = await api.call('/text/remove-stopwords?text=the+cat', { key });
    return json.ok ? String(status) : `${status} ${json.error.code}`;
  }

  it('works with one key after the other', async () => {
    const site = api.gateway.connectUrl;
    const { email, password } = api.gateway.firstOperator ?? { email: '', password: '' };
    const operator = await browser.newPage();
    await operator.goto(site);
    await operator.getByLabel('E-mail').fill(email);
    await operator.getByLabel('Password').fill(password);
    await follow(operator.getByRole('button', { name: 'Sign in' }));
    await operator.goto(`${site}/tenants/demo/members`);
    await operator.getByLabel('For whom').fill('Ada');
    await follow(operator.getByRole('button', { name: 'Create invitation link' }));
    const link = (await operator.locator('#link').textContent()) ?? '';

    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(link);
    await page.getByLabel('E-mail').fill('ada@demo.example');
    await page.getByLabel('New password', { exact: true }).fill('correct horse battery');
    await page.getByLabel('New password again').fill('correct horse battery');
    await follow(page.getByRole('button', { name: 'Create account and join' }));
    await page.getByLabel('Label').fill('journey');
    await follow(page.getByRole('button', { name: 'Issue key' }));
    const first = (await page.locator('#key').textContent()) ?? '';
    expect(await callWith(first)).to.equal('200');

    await page.reload();
    await page.getByLabel('In 1 hour').check();
    await follow(page.getByRole('button', { name: 'Rotate key' }));
    const second = (await page.locator('#key').textContent()) ?? '';
    expect([await callWith(first), await callWith(second)]).to.deep.equal(['200', '200']);

    await follow(page.getByRole('link', { name: 'I have copied it' }));
    await follow(page.getByRole('button', { name: 'End the grace now' }));
    await page.getByText('The grace has ended').waitFor();
    expect([await callWith(first), await callWith(second)]).to.deep.equal(['401 key_expired', '200']);

    await follow(page.getByRole('link', { name: 'Revoke key…' }));
    await follow(page.getByRole('button', { name: 'Revoke for good' }));
    await page.getByText('The key was revoked').waitFor();
    expect(await callWith(second)).to.equal('401 key_revoked');

    // Figures are some seconds behind. Four calls: those that were refused were nobody's.
    await page.goto(`${site}/tenants/demo/usage`);
    const cells = page.getByRole('row', { name: /text\/remove-stopwords/ }).getByRole('cell');
    const calls = async () => (await cells.allTextContents()).includes('4');
    while (!(await calls())) {
      await page.waitForTimeout(500);
      await page.reload();
    }
    await context.close();
  });
});
