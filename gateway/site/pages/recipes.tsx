import { useContext } from 'preact/hooks';
import type { BodyAnswer } from '../../../pool/answer.js';
import { readJsonObject } from '../../../schemas/input/parse.js';
import { GatewayError, inputError } from '../../errors.js';
import { definitionOf, type RecipeView, recipeId } from '../../keys/model.js';
import { recipeName } from '../../keys/schemas.js';
import {
  type Answer,
  type FormState,
  formState,
  get,
  type PageCall,
  post,
  refused,
  type TenantCall,
  type UserCall,
} from '../page.js';
import { ConfirmPage } from './confirm.js';
import { Page } from './document.js';
import { Changes, CopyBox, Empty, Field, Form, Moment, Notice, Table, ViewContext } from './elements.js';

const listPath = '/tenants/:tenant/recipes';

/** A tenant's recipes: their list, and one with its preview. */
export const recipePages = [
  get.user('/recipes/new', chooseTenantPage),
  get.tenant(listPath, listPage),
  get.tenant(`${listPath}/new`, newPage),
  get.tenant(`${listPath}/:recipe`, async (call) => recipePage(call, await findRecipe(call))),
  get.tenant(`${listPath}/:recipe/delete`, confirmDeletePage),
  post.tenant(listPath, saveRecipe),
  post.tenant(`${listPath}/preview`, previewRecipe),
  post.tenant(`${listPath}/:recipe/delete`, async (call) => {
    await call.site.admin.deleteRecipe(call.tenant.name, call.params.recipe ?? '', call.actor);
    return { redirect: `${listHref(call)}?done=deleted` };
  }),
];

const listHref = ({ tenant }: TenantCall) => `/tenants/${tenant.name}/recipes`;
const findRecipe = ({ site, tenant, params }: TenantCall) =>
  site.admin.recipe(tenant.name, params.recipe ?? '');

/** Where a definition from elsewhere, such as the playground, is to go: the visitor's tenant, or the one that they choose. */
async function chooseTenantPage({ site, visitor, search }: UserCall): Promise<Answer> {
  const tenants =
    visitor.role === 'operator'
      ? (await site.admin.listTenants({ limit: 1000 })).tenants
      : visitor.tenants.filter(({ role }) => role === 'member');
  const hrefOf = (name: string) => `/tenants/${name}/recipes/new${search && `?${search}`}`;
  const [only, ...others] = tenants;
  if (only && others.length === 0) return { redirect: hrefOf(only.name) };
  return (
    <Page title="New recipe">
      <p class="lead">
        A recipe is a tenant’s, whose keys alone can call it.
        {only ? ' Choose the tenant:' : ' There is no tenant here yet.'}
      </p>
      <ul>
        {tenants.map(({ name }) => (
          <li key={name}>
            <a href={hrefOf(name)}>{name}</a>
          </li>
        ))}
      </ul>
    </Page>
  );
}

async function listPage(call: TenantCall) {
  const { site, tenant, query } = call;
  const { recipes } = await site.admin.listRecipes(tenant.name);
  return (
    <Page tenant={tenant.name} title={`Recipes of ${tenant.name}`}>
      <h2>Recipes</h2>
      {query.get('done') === 'deleted' && (
        <Notice kind="good">The recipe was deleted. No gateway serves it any more within 5 seconds.</Notice>
      )}
      <p class="lead">
        A recipe is several steps on one picture under one name, <code>/{recipeId('name')}</code>, which the
        keys of this tenant alone can call.
      </p>
      <Empty of={recipes} title="No recipes yet">
        Write one, or have the playground make it of steps that you put together there.
      </Empty>
      <Table
        label={`Recipes of ${tenant.name}`}
        rows={recipes}
        columns={[
          {
            head: 'Name',
            rowHead: true,
            cell: ({ name }) => <a href={`${listHref(call)}/${name}`}>{name}</a>,
          },
          { head: 'Summary', cell: ({ summary }) => summary },
          { head: 'Steps', priority: 2, cell: ({ steps }) => steps.map(({ use }) => use).join(', ') },
          { head: 'Changed', priority: 2, cell: ({ updated_at }) => <Moment at={updated_at} /> },
        ]}
      />
      <p class="inline">
        <Changes>
          <a class="button" href={`${listHref(call)}/new?definition=`}>
            New recipe
          </a>
        </Changes>
        {site.playground && <a href={site.playground}>Playground</a>}
      </p>
    </Page>
  );
}

/** What a new recipe begins with. */
const starter = {
  summary: 'Product card',
  input: { width: { default: 800, maximum: 1600 } },
  steps: [{ use: 'media/resize', width: '{width}', height: '{width}', fit: 'cover' }],
  format: 'webp',
};

async function newPage(call: TenantCall): Promise<Answer> {
  const text = call.query.get('definition');
  // "new" may be a recipe's name too.
  const named = text === undefined ? await findNamed(call, 'new') : undefined;
  if (named) return recipePage(call, named);
  return recipePage(call, undefined, text ? indented(text) : JSON.stringify(starter, null, 2));
}

async function findNamed({ site, tenant }: TenantCall, wanted: string): Promise<RecipeView | undefined> {
  return (await site.admin.listRecipes(tenant.name)).recipes.find(({ name }) => name === wanted);
}

/** JSON with its structure shown; any other text as it is. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function readObject(form: ReadonlyMap<string, string>, field: string): Record<string, unknown> {
  const read = readJsonObject(form.get(field)?.trim() || '{}');
  if ('value' in read) return read.value;
  throw inputError(read.problems.map(({ problem }) => ({ field, problem })));
}

async function saveRecipe(call: TenantCall): Promise<Answer> {
  const { site, form, tenant, actor } = call;
  const name = form.get('recipe')?.trim() ?? '';
  const isNew = form.get('new') === '1';
  try {
    if (isNew && (await findNamed(call, name))) {
      throw inputError([{ field: 'recipe', problem: `is ${name}, which there is already` }]);
    }
    await site.admin.putRecipe(tenant.name, name, readObject(form, 'definition'), actor);
    return { redirect: `${listHref(call)}/${name}?saved=1` };
  } catch (error) {
    return refused(recipeFormState(error, form, 'definition'), await sentPage(call));
  }
}

/** What came of a preview: problems stand in the form. */
type Tried = { picture?: BodyAnswer };

/** Tries what the form holds, saved or not. */
async function previewRecipe(call: TenantCall): Promise<Answer> {
  const { site, form, tenant } = call;
  try {
    const definition = readObject(form, 'definition');
    const url = form.get('url')?.trim();
    const input = { ...readObject(form, 'input'), ...(url && { url }) };
    const picture = await site.preview({ tenant, definition, input });
    return { page: await sentPage(call, { picture }), form: { values: form, problems: {} } };
  } catch (error) {
    return refused(recipeFormState(error, form, 'url'), await sentPage(call, {}));
  }
}

/** Whatever is wrong is said beside what was typed, which would be lost otherwise. */
function recipeFormState(error: unknown, form: PageCall['form'], field: 'definition' | 'url'): FormState {
  if (!(error instanceof GatewayError) || ['internal', 'keys_unavailable'].includes(error.code)) throw error;
  if (error.code === 'invalid_input') return formState(error, form, field);
  return { values: form, problems: { [field]: error.message } };
}

async function sentPage(call: TenantCall, tried?: Tried) {
  const { form } = call;
  const saved = form.get('new') === '1' ? undefined : await findNamed(call, form.get('recipe') ?? '');
  return recipePage(call, saved, '', tried);
}

/** The page of a saved recipe, or of one that is to be. */
function recipePage(call: TenantCall, saved: RecipeView | undefined, text = '', tried?: Tried) {
  const { tenant, query, site } = call;
  const href = listHref(call);
  const title = saved?.name ?? 'New recipe';
  const definition = saved ? JSON.stringify(definitionOf(saved), null, 2) : text;
  return (
    <Page tenant={tenant.name} title={title}>
      <p class="crumbs">
        <a href={href}>Recipes</a> /
      </p>
      <h2>{title}</h2>
      {saved && query.get('saved') === '1' && (
        <Notice kind="good">Saved. Every gateway serves it so within 5 seconds.</Notice>
      )}
      {call.mayChange ? (
        <RecipeForm href={href} saved={saved} text={definition} tried={tried} />
      ) : (
        <CopyBox id="definition" label="Definition" text={definition} />
      )}
      {saved && (
        <>
          <section class="panel">
            <h2>Call it</h2>
            <CopyBox id="address" label="Address" text={`${site.apiUrl}/${recipeId(saved.name)}`} />
            <p>
              With a key of this tenant: one with the scope <code>{recipeId(saved.name)}</code> opens this
              recipe and nothing else. It was last changed <Moment at={saved.updated_at} />.
            </p>
          </section>
          <Changes>
            <section class="panel danger">
              <h2>Delete</h2>
              <p>What calls this recipe gets 404 from then on.</p>
              <a class="button danger-button" href={`${href}/${saved.name}/delete`}>
                Delete recipe…
              </a>
            </section>
          </Changes>
        </>
      )}
    </Page>
  );
}

interface RecipeFormProps {
  /** Of the list. */
  href: string;
  saved: RecipeView | undefined;
  text: string;
  tried: Tried | undefined;
}

function RecipeForm({ href, saved, text, tried }: RecipeFormProps) {
  return (
    <Form action={href} label="Recipe">
      {saved ? (
        <input type="hidden" name="recipe" value={saved.name} />
      ) : (
        <>
          <input type="hidden" name="new" value="1" />
          <Field
            name="recipe"
            label="Name"
            hint={`${recipeName.form}. It cannot be changed later.`}
            required
          />
        </>
      )}
      <Field
        name="definition"
        label="Definition"
        value={text}
        rows={18}
        wide
        required
        hint="JSON: steps, and if you like summary, input and format. A value such as “{width}” is a parameter of the recipe."
      />
      {!tried && <Problems />}
      <p>
        <button type="submit">Save recipe</button>
      </p>
      <section class="panel" id="preview">
        <h2>Preview</h2>
        <p>Tries the definition above, saved or not. It counts towards the tenant’s rate and quota.</p>
        <Field
          name="url"
          label="Picture"
          placeholder="https://example.com/photo.jpg"
          wide
          hint="An address that the gateway may fetch. Empty: a sample picture."
        />
        <Field
          name="input"
          label="Parameters"
          placeholder='{ "width": 400 }'
          rows={3}
          wide
          hint="JSON, as a call would send them."
        />
        <p>
          <button type="submit" formaction={`${href}/preview#preview`} formnovalidate class="quiet-button">
            Show preview
          </button>
        </p>
        {tried && <Problems />}
        {tried?.picture && <Preview picture={tried.picture} />}
      </section>
    </Form>
  );
}

const fieldsOfForm = ['recipe', 'definition', 'url', 'input'];

/** Of the parts of the definition, and of the parameters of a preview. */
function Problems() {
  const { problems } = useContext(ViewContext).form;
  const inside = Object.entries(problems).filter(([field]) => !fieldsOfForm.includes(field));
  return inside.length === 0 ? null : (
    <Notice kind="bad">
      <ul>
        {inside.map(([field, problem]) => (
          <li key={field}>
            <code>{field}</code> {problem}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function Preview({ picture: { bytes, type } }: { picture: BodyAnswer }) {
  const source = `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;
  return (
    <figure class="preview">
      <img src={source} alt="What the recipe makes" />
      <figcaption>What the recipe makes. A large picture is shown smaller.</figcaption>
    </figure>
  );
}

async function confirmDeletePage(call: TenantCall): Promise<Answer> {
  const { name } = await findRecipe(call);
  const href = `${listHref(call)}/${name}`;
  return (
    <ConfirmPage
      tenant={call.tenant.name}
      title="Delete recipe"
      heading={`Delete the recipe “${name}”?`}
      action={`${href}/delete`}
      button="Delete it"
      href={href}
    >
      <p>
        What calls <code>/{recipeId(name)}</code> gets 404, and pictures on pages are gone as soon as caches
        forget them. Keys keep their scopes: a recipe that is saved under this name again is opened by them.
      </p>
    </ConfirmPage>
  );
}
