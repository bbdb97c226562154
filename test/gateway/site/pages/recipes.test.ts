import { expect } from 'chai';
import { goneHelper } from '../../keys/recipe-compiler.js';
import { type BrowserLike, hiddenFields, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import { useTestSite } from '../test-site.js';

describe('site/pages: recipes', () => {
  const site = useTestSite();
  const list = '/tenants/acme/recipes';
  const card = { summary: 'Card <b>', steps: [{ use: 'media/resize', width: '{width}' }] };
  let member: BrowserLike;
  before(async () => {
    await site.admin.createTenant('acme', 'test');
    member = await join(site, 'acme', 'ada@acme.example');
  });
  const names = async () => (await site.admin.listRecipes('acme')).recipes.map(({ name }) => name);

  it('save, change and delete one, and note who did', async () => {
    expect((await member.get(list)).html).to.include('No recipes yet');
    await member.get(`${list}/new?definition=`);
    const saved = await member.submit(list, { recipe: 'card', definition: JSON.stringify(card) });
    expect(saved.location).to.equal(`${list}/card?saved=1`);
    const { html } = await member.get(`${list}/card`);
    expect(html).to.include('Card &lt;b>').and.include('http://127.0.0.1:8080/recipes/card');
    const changed = { ...card, summary: 'Another' };
    await member.submit(list, { definition: JSON.stringify(changed) });
    expect(await site.admin.recipe('acme', 'card')).to.deep.include({ name: 'card', ...changed });
    expect((await member.get(list)).html)
      .to.include('Another')
      .and.include('media/resize');
    await member.get(`${list}/card/delete`);
    expect((await member.submit(`${list}/card/delete`)).location).to.equal(`${list}?done=deleted`);
    expect(await names()).to.deep.equal([]);
    const { entries } = await site.admin.audit({ tenant: 'acme', limit: 3 });
    const by = 'user:ada@acme.example';
    expect(entries.map(({ actor, action }) => [actor, action])).to.deep.equal([
      [by, 'recipe.delete'],
      [by, 'recipe.put'],
      [by, 'recipe.put'],
    ]);
    const operator = await signedIn(site.url, site.operator);
    expect((await operator.get('/tenants/acme/audit')).html).to.include('deleted the recipe card of acme');
  });

  it('say what is wrong where it is, and keep what was typed', async () => {
    await site.admin.putRecipe('acme', 'taken', card, 'test');
    await member.get(`${list}/new?definition=`);
    for (const [recipe, definition, ...said] of [
      ['Card!', JSON.stringify(card), 'Name must be 1 to 63'],
      ['taken', JSON.stringify(card), 'which there is already'],
      ['card', '{"steps":', 'Definition must be JSON'],
      ['card', '[]', 'Definition must be a JSON object'],
      [
        'card',
        JSON.stringify({ ...card, steps: [{ use: goneHelper }] }),
        '<code>steps.0.use</code> is no helper',
      ],
      ['card', JSON.stringify({ ...card, summary: 'x'.repeat(17_000) }), 'has 17', '16384'],
    ] as const) {
      const { status, html } = await member.submit(list, { recipe, definition });
      expect(status, recipe).to.equal(400);
      for (const part of said) expect(html).to.include(part);
      expect(html)
        .to.include(`value="${recipe}"`)
        .and.include(definition.slice(0, 9).replaceAll('"', '&quot;'));
    }
    expect(await names()).to.deep.equal(['taken']);
    expect(await site.admin.recipe('acme', 'taken')).to.have.property('summary', card.summary);
  });

  it('show what a definition makes before it is saved, and why it makes nothing', async () => {
    const form = hiddenFields((await member.get(`${list}/new?definition=`)).html, list);
    const fields = { ...form, definition: JSON.stringify(card), recipe: 'try' };
    const preview = (more: Record<string, string> = {}) =>
      member.post(`${list}/preview`, { ...fields, ...more });
    const shown = await preview();
    expect(shown.html).to.include('src="data:image/gif;base64,R0lGOD').and.include('value="try"');
    expect(shown.headers.get('content-security-policy')).to.include("img-src 'self' data:;");
    for (const [more, said] of [
      [{ input: '{' }, 'Parameters must be JSON'],
      [{ definition: '{}' }, '<code>steps</code> must be given'],
      [{ url: 'https://away.example/' }, 'The url could not be fetched.'],
    ] as const) {
      const { status, html } = await preview(more);
      expect([status, html.includes(said)], said).to.deep.equal([400, true]);
      expect(html).not.to.include('data:image');
    }
    expect(await names()).not.to.include('try');
  });

  it('take a definition from the playground to the tenant that is meant', async () => {
    const query = `definition=${encodeURIComponent(JSON.stringify(card))}`;
    expect((await member.get(`/recipes/new?${query}`)).location).to.equal(`${list}/new?${query}`);
    const { html } = await member.get(`${list}/new?${query}`);
    expect(html).to.include('&quot;use&quot;: &quot;media/resize&quot;');
    await site.admin.createTenant('globex', 'test');
    const operator = await signedIn(site.url, site.operator);
    const chooser = (await operator.get(`/recipes/new?${query}`)).html;
    for (const name of ['acme', 'globex'])
      expect(chooser).to.include(`/tenants/${name}/recipes/new?definition=`);
  });

  it('offer the tenant’s own as scopes, and sign their addresses', async () => {
    await site.admin.putRecipe('globex', 'theirs', card, 'test');
    const { html } = await member.get('/tenants/acme');
    expect(html).to.include('scope:recipes/taken').and.include('scope:recipes/*').and.not.include('theirs');
    const issued = await member.submit('/tenants/acme/keys', { 'scope:recipes/taken': 'on' });
    const sign = `${/\/keys\/key_\w+/.exec(issued.html)?.[0]}/sign`;
    expect((await member.get(sign)).html).to.include('/recipes/taken?url=');
    const url = '/recipes/taken?url=https%3A%2F%2Fexample.com%2Fa.jpg&width=300';
    expect((await member.submit(sign, { url, expires: '1' })).html).to.include(
      'http://127.0.0.1:8080/recipes/taken?',
    );
    await member.get(sign);
    const wrong = await member.submit(sign, { url: '/recipes/theirs', expires: '1' });
    expect(wrong.status).to.equal(400);
    expect(wrong.html).to.include('has the path').and.include('/recipes/theirs');
  });
});
