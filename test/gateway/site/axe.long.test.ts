import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { toolFile } from '../../needs.js';
import { follow } from './chromium.js';
import { inChromium } from './in-chromium.js';
import { sampleItems, sampleJob, sampleUsage } from './test-site.js';

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

describe('site: to people who cannot see the pages, or not well', function () {
  this.timeout(180_000);
  let axeSource: string;
  before(function () {
    axeSource = readFileSync(toolFile(this, 'axe-core/axe.min.js'), 'utf8');
  });
  const chromium = inChromium();

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has nothing that axe finds wrong, on any page, ${colorScheme}`, async () => {
      const { site } = chromium;
      const tenant = `axe-${colorScheme}`;
      const { id } = await site.admin.createTenant(tenant, 'test');
      const key = await site.admin.issueKey(tenant, { label: 'website' }, 'test');
      await site.admin.rotateKey(key.id, {}, 'test');
      await site.admin.revokeKey((await site.admin.issueKey(tenant, {}, 'test')).id, 'test');
      site.usage.set(id, sampleUsage(key.id, 7));
      site.jobs.push(sampleJob(id, {}, sampleItems));
      // The page's own policy keeps axe out, so it is set aside here and only here.
      const [context, page] = await chromium.openPage({
        colorScheme,
        bypassCSP: true,
        viewport: { width: 1280, height: 800 },
      });
      const found: string[] = [];
      // What is dark differs from what is light in its colours alone.
      const rules = colorScheme === 'light' ? '{}' : `{ runOnly: ['color-contrast', 'link-in-text-block'] }`;
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
      await chromium.signIn(page);
      const base = `/tenants/${tenant}`;
      for (const path of [
        '/overview',
        '/tenants',
        '/keys',
        '/audit',
        '/operators',
        '/account',
        base,
        `${base}/keys/${key.id}`,
        `${base}/keys/${key.id}/revoke`,
        `${base}/keys/${key.id}/sign`,
        `${base}/keys/${key.id}/rotate-signing`,
        `${base}/usage`,
        `${base}/jobs`,
        `${base}/jobs/job_4fGhJ2kLm9pQ`,
        `${base}/webhooks`,
        `${base}/webhooks/rotate`,
        `${base}/limits`,
        `${base}/members`,
        `${base}/audit`,
        '/nowhere',
      ]) {
        await page.goto(site.url + path);
        await look(path);
      }
      const signPage = `${site.url}${base}/keys/${key.id}/sign`;
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
      await page.goto(`${site.url}${base}/keys/${key.id}`);
      await follow(page.getByRole('button', { name: 'Show signing secret' }));
      await look('signing secret on a phone');
      await page.goto(`${site.url}${base}/webhooks/rotate`);
      await follow(page.getByRole('button', { name: 'Replace it' }));
      await look('webhook secret on a phone');
      for (const path of ['/overview', base, `${base}/keys/${key.id}`, `${base}/usage`, `${base}/members`]) {
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
