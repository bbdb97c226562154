import { expect } from 'chai';
import type { GatewayError } from '../../../gateway/errors.js';
import type { KeyAdmin } from '../../../gateway/keys/admin.js';
import type { RecipeCompiler } from '../../../gateway/plugins/recipes/recipe.js';
import { createTenantRecipes } from '../../../gateway/recipes/tenant-recipes.js';
import { rejection } from './key-store-contract.js';
import { compileRecipe, goneHelper } from './recipe-compiler.js';
import { createVerifierWorld, type VerifierWorld } from './verifier-world.js';

const card = { summary: 'Card', steps: [{ use: 'media/resize', width: '{width}' }] };
const error = async (work: Promise<unknown>) => (await rejection(work)) as GatewayError;

describe('keys/recipe-changes', () => {
  let world: VerifierWorld;
  let admin: KeyAdmin;
  beforeEach(async () => {
    world = await createVerifierWorld();
    ({ admin } = world);
  });
  afterEach(() => world.close());
  const put = (name: string, definition: object = card) => admin.putRecipe('acme', name, definition, 'ann');

  it('adds, replaces, lists and deletes, each with its audit entry', async () => {
    const added = await put('card');
    world.wall += 1_000;
    const changed = await put('card', { ...card, format: 'webp' });
    expect([added.isNew, changed.isNew]).to.deep.equal([true, false]);
    const [created_at, updated_at] = ['2030-01-01T00:00:00.000Z', '2030-01-01T00:00:01.000Z'];
    const recipe = { name: 'card', created_at, updated_at, ...card, format: 'webp' };
    expect(changed.recipe).to.deep.equal(recipe);
    await put('a-card');
    const { recipes } = await admin.listRecipes('acme');
    expect(recipes.map(({ name }) => name)).to.deep.equal(['a-card', 'card']);
    expect(await admin.recipe('acme', 'card')).to.deep.equal(recipe);
    expect(await admin.deleteRecipe('acme', 'card', 'bob')).to.deep.equal(recipe);
    expect(await error(admin.deleteRecipe('acme', 'card', 'bob'))).to.have.property('code', 'not_found');
    const { entries } = await admin.audit({ tenant: 'acme', limit: 4 });
    expect(entries.map(({ actor, action, detail }) => [actor, action, detail])).to.deep.equal([
      ['bob', 'recipe.delete', { recipe: 'card' }],
      ['ann', 'recipe.put', { recipe: 'a-card', new: true }],
      ['ann', 'recipe.put', { recipe: 'card', new: false }],
      ['ann', 'recipe.put', { recipe: 'card', new: true }],
    ]);
  });

  it('refuses names, definitions and tenants that cannot be, and changes nothing', async () => {
    for (const name of ['', 'Card', '-card', 'a_b', 'ä', 'a/b', 'card\n', 'a'.repeat(64), '__proto__'])
      expect(
        (await error(put(name))).details?.map(({ field }) => field),
        name,
      ).to.deep.equal(['recipe']);
    expect((await error(put('card', {}))).details).to.deep.equal([
      { field: 'steps', problem: 'must be given' },
    ]);
    const gone = await error(put('card', { steps: [{ use: 'media/resize' }, { use: goneHelper }] }));
    expect([gone.code, gone.details?.[0]?.field]).to.deep.equal(['invalid_input', 'steps.1.use']);
    const large = await error(put('card', { ...card, summary: 'é'.repeat(8_192) }));
    expect([large.code, large.message]).to.satisfy(
      ([code, message]: string[]) => code === 'too_large' && message?.includes('16384'),
    );
    expect(await error(admin.putRecipe('nobody', 'card', card, 'ann'))).to.have.property('code', 'not_found');
    for (const name of ['none', 'Card', '\0'])
      expect(await error(admin.recipe('acme', name))).to.have.property('code', 'not_found');
    expect((await admin.listRecipes('acme')).recipes).to.deep.equal([]);
  });

  it('keeps a hundred of a tenant, and names the bound to who wants one more', async () => {
    await world.store.change(async (tx) => {
      const { id: tenant_id } = (await tx.tenant('acme')) as { id: string };
      const recipe = { tenant_id, definition: JSON.stringify(card), created_at: 1, updated_at: 1 };
      for (let n = 0; n < 99; n += 1) await tx.putRecipe({ ...recipe, name: `card-${n}` });
    });
    await put('one-more');
    const full = await error(put('too-many'));
    expect([full.code, full.message.includes('100')]).to.deep.equal(['conflict', true]);
    expect((await put('one-more', { ...card, format: 'png' })).isNew).to.equal(false);
  });
});

describe('scopes for recipes', () => {
  let world: VerifierWorld;
  beforeEach(async () => {
    world = await createVerifierWorld();
  });
  afterEach(() => world.close());

  it('are recipes/* and any name that a recipe can have, also before there is one', async () => {
    const issue = (scopes: string[]) => world.admin.issueKey('acme', { scopes }, 'ann');
    expect((await issue(['recipes/card', 'recipes/*'])).scopes).to.deep.equal(['recipes/card', 'recipes/*']);
    for (const scope of [
      'recipes/Card',
      'recipes/',
      'recipes/a/b',
      'recipe/card',
      'recipes/*/a',
      'xrecipes/a',
    ])
      expect(
        (await error(issue([scope]))).details?.map(({ field }) => field),
        scope,
      ).to.deep.equal(['scopes']);
  });

  it('let a url be signed for a recipe that the tenant has, and for no other', async () => {
    const { admin } = world;
    await admin.createTenant('globex', 'ann');
    await admin.putRecipe('globex', 'card', card, 'ann');
    const { id } = await admin.issueKey('acme', { scopes: ['recipes/*'] }, 'ann');
    const exp = world.wall / 1000 + 60;
    const sign = () =>
      admin.signUrl(id, { url: 'https://api.example/recipes/card', service: 'recipes/card', exp });
    expect((await error(sign())).details?.[0]?.problem).to.include('the recipe card');
    await admin.putRecipe('acme', 'card', card, 'ann');
    expect(await sign()).to.match(/^https:\/\/api\.example\/recipes\/card\?.*sig=/);
  });
});

describe('keys/recipe-cache', () => {
  let world: VerifierWorld;
  let recipes: ReturnType<typeof createTenantRecipes>;
  let acme: string;
  let globex: string;
  let reads: number;
  let failing: boolean;
  let compilations: number;
  beforeEach(async () => {
    world = await createVerifierWorld();
    acme = (await world.admin.tenant('acme')).id;
    globex = (await world.admin.createTenant('globex', 'ann')).id;
    [reads, compilations, failing] = [0, 0, false];
    const store = {
      recipes: (tenant: string) => {
        reads += 1;
        return failing ? world.store.find(['']).then(() => []) : world.store.recipes(tenant);
      },
    };
    const compile: RecipeCompiler = (id, definition) => {
      compilations += 1;
      return compileRecipe(id, definition);
    };
    const { changes } = world.verifier;
    recipes = createTenantRecipes({ store, compile, changes, monotonic: () => world.elapsed });
  });
  afterEach(async () => {
    recipes.close();
    await world.close();
  });
  const put = (by: KeyAdmin, tenant: string, definition: object = card) =>
    by.putRecipe(tenant, 'card', definition, 'ann');
  const found = async (tenant = acme) => (await recipes.findRecipe(tenant, 'card'))?.helper?.id;
  const fail = (value: boolean) => {
    failing = value;
    world.store.fail(value);
  };

  it('finds the tenant’s own, compiled once, and reads nothing for names that are not there', async () => {
    await put(world.admin, 'acme');
    expect([await found(), await found(globex)]).to.deep.equal(['recipes/card', undefined]);
    for (let n = 0; n < 50; n += 1) {
      await recipes.findRecipe(acme, `none-${n}`);
      expect(await found()).to.equal('recipes/card');
    }
    expect([reads, compilations]).to.deep.equal([2, 1]);
    const list = await recipes.listRecipes(acme);
    expect(list.map(({ helper }) => helper?.id)).to.deep.equal(['recipes/card']);
    expect(await recipes.listRecipes(globex)).to.deep.equal([]);
  });

  it('knows a change of this process at once, and one of another at the next poll', async () => {
    expect(await found()).to.equal(undefined);
    await put(world.admin, 'acme');
    expect(await found()).to.equal('recipes/card');
    await world.elsewhere.deleteRecipe('acme', 'card', 'bob');
    expect(await found()).to.equal('recipes/card');
    await world.pass(1_000);
    expect(await found()).to.equal(undefined);
  });

  it('serves what it knows through five minutes without a database, and no longer', async () => {
    await put(world.admin, 'acme');
    expect(await found()).to.equal('recipes/card');
    fail(true);
    await world.pass(299_000);
    expect(await found()).to.equal('recipes/card');
    expect(await error(found(globex))).to.have.property('code', 'keys_unavailable');
    await world.pass(2_000);
    expect(await error(found())).to.have.property('code', 'keys_unavailable');
    fail(false);
    await world.pass(1_000);
    expect([await found(), await found(globex)]).to.deep.equal(['recipes/card', undefined]);
  });

  it('does not cache what was read before a change', async () => {
    await put(world.admin, 'acme');
    const before = found();
    await world.admin.deleteRecipe('acme', 'card', 'bob');
    await before;
    expect(await found()).to.equal(undefined);
  });

  it('gives none of one tenant’s to another under the same name', async () => {
    const definitions: unknown[] = [];
    const compile: RecipeCompiler = (id, definition) => {
      definitions.push(definition);
      return compileRecipe(id, definition);
    };
    await put(world.admin, 'acme', { ...card, summary: 'of acme' });
    await put(world.admin, 'globex', { ...card, summary: 'of globex' });
    const own = createTenantRecipes({ store: world.store, compile, changes: world.verifier.changes });
    const [first, second] = [await own.findRecipe(acme, 'card'), await own.findRecipe(globex, 'card')];
    expect(first).not.to.equal(second);
    expect(await own.findRecipe(acme, 'card')).to.equal(first);
    expect(definitions).to.deep.equal([
      { ...card, summary: 'of acme' },
      { ...card, summary: 'of globex' },
    ]);
    own.close();
  });
});
