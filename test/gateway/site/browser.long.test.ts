import { expect } from 'chai';
import { arrive, follow } from './chromium.js';
import { inChromium } from './in-chromium.js';
import { sampleUsage } from './test-site.js';

describe('site: in a browser', function () {
  this.timeout(60_000);
  const chromium = inChromium();

  const state = async (key: string) => (await chromium.site.verifier.verify(key)).state;

  it('leads from the first sign-in to a member with a key, its rotation and its end', async () => {
    const { site } = chromium;
    const [operatorContext, operator] = await chromium.openPage();
    await chromium.signIn(operator);
    await follow(operator.getByRole('link', { name: 'Create the first one' }));
    await operator.getByLabel('Name').fill('acme');
    await follow(operator.getByRole('button', { name: 'Create tenant' }));
    await follow(operator.getByRole('link', { name: 'Members' }));
    await operator.getByLabel('For whom').fill('Ada');
    await follow(operator.getByRole('button', { name: 'Create invitation link' }));
    const link = (await operator.locator('#link').textContent()) ?? '';
    // A reload shows the list below, and not the link again.
    await operator.reload();
    expect(await operator.content())
      .to.include('Open invitations')
      .and.not.to.include(link);

    const [context, page] = await chromium.openPage({
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.goto(link);
    await page.getByLabel('E-mail').fill('ada@acme.example');
    await page.getByLabel('New password', { exact: true }).fill('correct horse battery');
    await page.getByLabel('New password again').fill('correct horse battery');
    await follow(page.getByRole('button', { name: 'Create account and join' }));
    await page.getByText('No keys yet').waitFor();
    expect(await page.getByRole('navigation', { name: 'Site' }).textContent()).to.equal('acme');

    await page.getByLabel('Label').fill('billing');
    await page.getByLabel('text/*').check();
    await follow(page.getByRole('button', { name: 'Issue key' }));
    const first = (await page.locator('#key').textContent()) ?? '';
    await page.getByRole('button', { name: 'Copy API key' }).click();
    await page.getByText('Copied').first().waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(first);
    expect(await page.locator('#curl').textContent()).to.include(first);
    expect(await state(first)).to.equal('active');
    expect(page.url())
      .to.match(/\/keys\/key_\w+$/)
      .and.not.to.include(first);
    await page.reload();
    expect(await page.content()).not.to.include(first);

    await page.getByLabel('In 1 hour').check();
    await follow(page.getByRole('button', { name: 'Rotate key' }));
    const second = (await page.locator('#key').textContent()) ?? '';
    expect(second).not.to.equal(first);
    expect([await state(first), await state(second)]).to.deep.equal(['active', 'active']);
    await follow(page.getByRole('link', { name: 'I have copied it' }));
    await follow(page.getByRole('button', { name: 'End the grace now' }));
    await page.getByText('The grace has ended').waitFor();
    expect([await state(first), await state(second)]).to.deep.equal(['expired', 'active']);

    const { id } = await site.admin.tenant('acme');
    await follow(page.getByRole('link', { name: 'Usage' }));
    await page.getByText('No calls in the last 30 days').waitFor();
    site.usage.set(id, sampleUsage(page.url().split('/').at(-1) ?? '', 3));
    await page.reload();
    expect(await page.locator('.plot rect').count()).to.equal(12);
    expect(await page.getByRole('row').count()).to.equal(13);
    await page.locator('.plot rect').first().hover();
    await page.locator('.tip:visible').waitFor();
    expect(await page.locator('.tip').textContent()).to.match(/^\d{4}-\d\d-\d\d · \w+\/[\w-]+ · \d+ calls$/);

    await follow(page.getByRole('link', { name: 'Keys', exact: true }));
    await follow(page.getByRole('link', { name: 'billing' }));
    await follow(page.getByRole('link', { name: 'Revoke key…' }));
    await follow(page.getByRole('button', { name: 'Revoke for good' }));
    await page.getByText('The key was revoked').waitFor();
    expect(await state(second)).to.equal('revoked');
    await Promise.all([context.close(), operatorContext.close()]);
    expect(chromium.faults).to.deep.equal([]);
  });

  it('goes back from a shown key to the page before, and never shows it again', async () => {
    const { site } = chromium;
    await site.admin.createTenant('backwards', 'test');
    const [context, page] = await chromium.openPage();
    await chromium.signIn(page);
    await page.goto(`${site.url}/tenants/backwards`);
    await follow(page.getByRole('button', { name: 'Issue key' }));
    const key = (await page.locator('#key').textContent()) ?? '';
    await follow(page.getByRole('link', { name: 'I have copied it' }));
    await page.goBack();
    expect((await site.admin.listKeys('backwards')).keys).to.have.length(1);
    await page.reload();
    expect(await page.content()).not.to.include(key);
    expect((await site.admin.listKeys('backwards')).keys).to.have.length(1);
    await context.close();
  });

  it('can be worked with the keyboard alone', async () => {
    const { site } = chromium;
    const [context, page] = await chromium.openPage();
    await page.goto(`${site.url}/sign-in`);
    const focused = () =>
      page.evaluate(
        `(() => { const e = document.activeElement; return (e.labels?.[0]?.innerText ?? e.ariaLabel ?? e.innerText ?? '').trim(); })()`,
      );
    async function tabTo(text: string): Promise<void> {
      for (let presses = 0; presses < 60; presses += 1) {
        await page.keyboard.press('Tab');
        if (String(await focused()).startsWith(text)) return;
      }
      throw new Error(`no way to ${text} with the Tab key`);
    }
    const enter = () => arrive(page, () => page.keyboard.press('Enter'));
    await page.keyboard.press('Tab');
    expect(await focused()).to.equal('Skip to content');
    await page.keyboard.press('Enter');
    await tabTo('E-mail');
    await page.keyboard.type(site.operator.email);
    await tabTo('Password');
    await page.keyboard.type(site.operator.password);
    await enter();
    await tabTo('Tenants');
    await enter();
    await tabTo('Name');
    await page.keyboard.type('by-keyboard');
    await enter();
    await tabTo('Label');
    await page.keyboard.type('typed');
    await tabTo('text/*');
    await page.keyboard.press('Space');
    await tabTo('Issue key');
    await enter();
    const key = (await page.locator('#key').textContent()) ?? '';
    await tabTo('I have copied it');
    await enter();
    await tabTo('Revoke key…');
    await enter();
    await tabTo('Revoke for good');
    await enter();
    await page.getByText('The key was revoked').waitFor();
    expect(await state(key)).to.equal('revoked');
    await context.close();
  });

  it('shows today’s calls and the scale first on a screen that is narrower than the chart', async () => {
    const { site } = chromium;
    const { id } = await site.admin.createTenant('narrow', 'test');
    site.usage.set(id, sampleUsage('key_narrow', 1));
    const [context, page] = await chromium.openPage({ viewport: { width: 390, height: 844 } });
    await chromium.signIn(page);
    await page.goto(`${site.url}/tenants/narrow/usage`);
    const bar = await page.locator('.plot rect').last().boundingBox();
    expect((bar?.x ?? Number.NaN) + (bar?.width ?? 0)).to.be.within(200, 390);
    const scale = await page.locator('.plot .axis').first().boundingBox();
    expect((scale?.x ?? Number.NaN) + (scale?.width ?? 0)).to.be.within(200, 390);
    await context.close();
  });

  it('shows all columns of the audit log beside each other, however long the names in it are', async () => {
    const { site } = chromium;
    const actor = `user:${'ada.lovelace-'.repeat(6)}@analytical-engines.example`;
    const label = 'billing of the web shop '.repeat(4).trim();
    await site.admin.createTenant(`t${'-long'.repeat(12)}`, actor);
    await site.admin.issueKey(`t${'-long'.repeat(12)}`, { label, scopes: ['text/*'] }, actor);
    const [context, page] = await chromium.openPage({ viewport: { width: 1280, height: 900 } });
    await chromium.signIn(page);
    await page.goto(`${site.url}/audit`);
    const hidden = '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)';
    expect(await page.evaluate(`${hidden}(document.querySelector('.scroll'))`)).to.equal(0);
    await context.close();
  });

  it('works without a script', async () => {
    const { site } = chromium;
    await site.admin.createTenant('no-script', 'test');
    const [context, page] = await chromium.openPage({ javaScriptEnabled: false });
    await chromium.signIn(page);
    await page.goto(`${site.url}/tenants/no-script`);
    await follow(page.getByRole('button', { name: 'Issue key' }));
    expect(await page.getByRole('button', { name: 'Copy' }).count()).to.equal(0);
    expect(await state((await page.locator('#key').textContent()) ?? '')).to.equal('active');
    await context.close();
  });
});
