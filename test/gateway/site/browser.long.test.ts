import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { toolFile } from '../../needs.js';
import { arrive, follow, launchChromium, openPage, requireChromium, signInOn } from './chromium.js';
import { openTestSite, sampleItems, sampleJob, services, type TestSite } from './test-site.js';

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

describe('site: in a browser', function () {
  this.timeout(180_000);
  let browser: Browser;
  let site: TestSite;
  const faults: string[] = [];
  before(async function () {
    requireChromium.call(this);
    site = await openTestSite();
    browser = await launchChromium();
  });
  after(async () => {
    await browser?.close();
    await site?.close();
  });

  const open = (options?: BrowserContextOptions) => openPage(browser, faults, options);
  async function signIn(page: Page): Promise<void> {
    await page.goto(`${site.url}/sign-in`);
    await signInOn(page, site.operator);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  }
  /** A page of the operator. */
  async function openSignedIn(path: string, options?: BrowserContextOptions) {
    const [context, page] = await open(options);
    await signIn(page);
    await page.goto(site.url + path);
    return [context, page] as const;
  }
  const state = async (key: string) => (await site.verifier.verify(key)).state;

  it('leads from the first sign-in to a member with a key, its rotation and its end', async () => {
    const [operatorContext, operator] = await open();
    await signIn(operator);
    await follow(operator.getByRole('link', { name: 'Create a tenant' }));
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

    const [context, page] = await open({
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.goto(link);
    await page.getByLabel('E-mail').fill('ada@acme.example');
    await page.getByLabel('New password', { exact: true }).fill('correct horse battery');
    await page.getByLabel('New password again').fill('correct horse battery');
    await follow(page.getByRole('button', { name: 'Create account and join' }));
    await page.getByText('No keys yet').waitFor();
    expect(await page.getByRole('navigation', { name: 'Site' }).textContent()).to.equal('acme');

    await page.getByRole('textbox', { name: 'Label' }).fill('billing');
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

    await page.getByRole('button', { name: 'Rotate…' }).click();
    await page.getByLabel('In 1 hour').check();
    await follow(page.getByRole('button', { name: 'Rotate key' }));
    const second = (await page.locator('#key').textContent()) ?? '';
    expect(second).not.to.equal(first);
    expect([await state(first), await state(second)]).to.deep.equal(['active', 'active']);
    await follow(page.getByRole('link', { name: 'I have copied it' }));
    await page.getByRole('button', { name: 'End the grace…' }).click();
    await follow(page.getByRole('button', { name: 'End the grace now' }));
    await page.getByText('The grace has ended').waitFor();
    expect([await state(first), await state(second)]).to.deep.equal(['expired', 'active']);

    const { id } = await site.admin.tenant('acme');
    await follow(page.getByRole('link', { name: 'Usage', exact: true }));
    await page.getByText('No calls from').waitFor();
    await site.record(...services.map((service) => ({ tenant: id, service: service.id })));
    await page.reload();
    expect(await page.locator('.plot rect').count()).to.equal(services.length);
    await page.locator('.plot rect').first().hover();
    await page.locator('.tip:visible').waitFor();
    expect(await page.locator('.tip').textContent()).to.match(/^\d{4}-\d\d-\d\d · \w+\/[\w-]+ · 1 call$/);

    await follow(page.getByRole('link', { name: 'Overview', exact: true }));
    await follow(page.getByRole('link', { name: 'billing' }));
    await page.getByRole('button', { name: 'Revoke…' }).click();
    await follow(page.getByRole('button', { name: 'Revoke for good' }));
    await page.getByText('The key was revoked').waitFor();
    expect(await state(second)).to.equal('revoked');
    await Promise.all([context.close(), operatorContext.close()]);
    expect(faults).to.deep.equal([]);
  });

  it('goes back from a shown key to the page before, and never shows it again', async () => {
    await site.admin.createTenant('backwards', 'test');
    const [context, page] = await openSignedIn('/tenants/backwards');
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
    const [context, page] = await open();
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
    await tabTo('New tenant');
    await enter();
    await tabTo('Name');
    await page.keyboard.type('by-keyboard');
    await enter();
    await tabTo('Issue a key');
    await page.keyboard.press('Enter');
    await tabTo('Label');
    await page.keyboard.type('typed');
    await tabTo('text/*');
    await page.keyboard.press('Space');
    await tabTo('Issue key');
    await enter();
    const key = (await page.locator('#key').textContent()) ?? '';
    await tabTo('I have copied it');
    await enter();
    await tabTo('Revoke…');
    await page.keyboard.press('Enter');
    await tabTo('Revoke for good');
    await enter();
    await page.getByText('The key was revoked').waitFor();
    expect(await state(key)).to.equal('revoked');
    await context.close();
  });

  it('shows today’s calls and the scale first on a screen that is narrower than the chart', async () => {
    const { id } = await site.admin.createTenant('narrow', 'test');
    await site.record({ tenant: id });
    const [context, page] = await openSignedIn('/tenants/narrow/usage', {
      viewport: { width: 390, height: 844 },
    });
    const bar = await page.locator('.plot rect').last().boundingBox();
    expect((bar?.x ?? Number.NaN) + (bar?.width ?? 0)).to.be.within(200, 390);
    const scale = await page.locator('.plot .axis').first().boundingBox();
    expect((scale?.x ?? Number.NaN) + (scale?.width ?? 0)).to.be.within(200, 390);
    await context.close();
  });

  it('shows all columns of the audit log beside each other, however long the names in it are', async () => {
    const actor = `user:${'ada.lovelace-'.repeat(6)}@analytical-engines.example`;
    const label = 'billing of the web shop '.repeat(4).trim();
    await site.admin.createTenant(`t${'-long'.repeat(12)}`, actor);
    await site.admin.issueKey(`t${'-long'.repeat(12)}`, { label, scopes: ['text/*'] }, actor);
    const [context, page] = await openSignedIn('/audit', { viewport: { width: 1280, height: 900 } });
    const hidden = '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)';
    expect(await page.evaluate(`${hidden}(document.querySelector('.scroll'))`)).to.equal(0);
    await context.close();
  });

  it('works without a script', async () => {
    await site.admin.createTenant('no-script', 'test');
    const [context, page] = await openSignedIn('/tenants/no-script', { javaScriptEnabled: false });
    await follow(page.getByRole('button', { name: 'Issue key' }));
    expect(await page.getByRole('button', { name: 'Copy' }).count()).to.equal(0);
    expect(await state((await page.locator('#key').textContent()) ?? '')).to.equal('active');
    await context.close();
  });

  describe('to people who cannot see the pages, or not well', () => {
    let axeSource: string;
    before(function () {
      axeSource = readFileSync(toolFile(this, 'axe-core/axe.min.js'), 'utf8');
    });

    for (const colorScheme of ['light', 'dark'] as const) {
      it(`has nothing that axe finds wrong, on any page, ${colorScheme}`, async () => {
        const tenant = `axe-${colorScheme}`;
        const { id } = await site.admin.createTenant(tenant, 'test');
        const key = await site.admin.issueKey(tenant, { label: 'website' }, 'test');
        await site.admin.rotateKey(key.id, {}, 'test');
        await site.admin.revokeKey((await site.admin.issueKey(tenant, {}, 'test')).id, 'test');
        await site.record(
          { tenant: id, key: key.id },
          { tenant: id, key: key.id, status: 429, code: 'rate_limited' },
        );
        site.jobs.push(sampleJob(id, {}, sampleItems));
        // The page's own policy keeps axe out, so it is set aside here and only here.
        const [context, page] = await open({
          colorScheme,
          bypassCSP: true,
          viewport: { width: 1280, height: 800 },
        });
        const found: string[] = [];
        // What is dark differs from what is light in its colours alone.
        const rules =
          colorScheme === 'light' ? '{}' : `{ runOnly: ['color-contrast', 'link-in-text-block'] }`;
        async function look(name: string): Promise<void> {
          await page.evaluate(axeSource);
          const violations = (await page.evaluate(
            `axe.run(document, ${rules}).then((r) => r.violations)`,
          )) as Violation[];
          for (const { id, nodes } of violations) {
            found.push(`${name}: ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
          }
          const wider = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          if (Number(wider) > 0) found.push(`${name}: ${wider} px wider than the window`);
        }
        await page.goto(`${site.url}/sign-in`);
        await look('sign-in');
        await page.getByLabel('E-mail').fill('nobody@example.com');
        await page.getByLabel('Password').fill('not the password');
        await follow(page.getByRole('button', { name: 'Sign in' }));
        await look('sign-in refused');
        await signIn(page);
        const base = `/tenants/${tenant}`;
        for (const path of [
          '/overview',
          '/tenants',
          '/tenants/new',
          '/plans',
          '/search?q=axe',
          '/keys',
          '/audit',
          '/people',
          '/tokens',
          '/account',
          '/account/second-factor',
          base,
          `/keys/${key.id}`,
          `/keys/${key.id}/revoke`,
          `/keys/${key.id}/sign`,
          `/keys/${key.id}/rotate-signing`,
          `${base}/usage`,
          `${base}/jobs`,
          `${base}/jobs/job_4fGhJ2kLm9pQ`,
          `${base}/webhooks`,
          `${base}/webhooks/rotate`,
          `${base}/settings`,
          `${base}/members`,
          `${base}/audit`,
          '/nowhere',
        ]) {
          await page.goto(site.url + path);
          await look(path);
        }
        const signPage = `${site.url}/keys/${key.id}/sign`;
        const sign = async (address: string) => {
          await page.goto(signPage);
          await page.getByLabel('Address').fill(address);
          await follow(page.getByRole('button', { name: 'Sign address' }));
        };
        await sign('/media/add-border?color=dusty rose');
        await look('url signed');
        await sign('/nothing');
        await look('address refused');
        await page.setViewportSize({ width: 390, height: 844 });
        await sign('/media/add-border?color=dusty rose');
        await look('url signed on a phone');
        await page.goto(`${site.url}/keys/${key.id}`);
        await follow(page.getByRole('button', { name: 'Show signing secret' }));
        await look('signing secret on a phone');
        await page.goto(`${site.url}${base}/webhooks/rotate`);
        await follow(page.getByRole('button', { name: 'Replace it' }));
        await look('webhook secret on a phone');
        for (const path of ['/overview', base, `/keys/${key.id}`, `${base}/usage`, `${base}/members`]) {
          await page.goto(site.url + path);
          await look(`${path} on a phone`);
        }
        await page.getByLabel('For whom').fill('Ada');
        await follow(page.getByRole('button', { name: 'Create invitation link' }));
        await look('invitation shown');
        const link = (await page.locator('#link').textContent()) ?? '';
        await page.goto(`${site.url}${base}/members`);
        await look('members with an invitation');
        await page.goto(`${site.url}${base}`);
        await page.getByLabel('Expires').fill('2020-01-01');
        await follow(page.getByRole('button', { name: 'Issue key' }));
        await look('key refused');
        await page.getByLabel('Expires').fill('');
        await follow(page.getByRole('button', { name: 'Issue key' }));
        await look('key shown');
        await page.goto(link);
        await look('invitation, signed in');
        await follow(page.getByRole('button', { name: 'Sign out' }));
        await page.goto(link);
        await look('invitation');
        await context.close();
        expect(found).to.deep.equal([]);
      });
    }
  });
});
