import { isDeepStrictEqual } from 'node:util';
import { boundProblems, type FieldProblem, joinField } from '../../schemas/field-problem.js';
import { isObject } from '../../schemas/json-schema.js';
import { parseTime } from '../../schemas/keywords/future.js';
import { didYouMean } from '../../schemas/nearest.js';
import { quote } from '../../schemas/quote.js';
import { GatewayError, inputError } from '../errors.js';
import type { KeyAdmin } from '../keys/admin.js';
import type { KeyChanges } from '../keys/inputs.js';
import { definitionOf } from '../keys/model.js';
import { allPages } from './open.js';

type Values = Record<string, unknown>;

/** A plan, tenant, key or recipe; a key's name is its label, or its id where it has none. */
interface Named {
  kind: 'plan' | 'tenant' | 'key' | 'recipe';
  /** Whose key or recipe it is. */
  tenant?: string;
  name: string;
}

interface Declared extends Named {
  /** Where it stands in the file: `tenants.0.keys.1`. */
  place: string;
  /** Its fields, those of its `limits` among them, as the administration has them. */
  values: Values;
}

interface Present extends Named {
  values: Values;
  /** Several where keys have one label. */
  ids: string[];
}

/** A difference between the file and the gateway. */
export interface Change extends Named {
  action: 'add' | 'change';
  fields: Record<string, { before: unknown; after: unknown }>;
}

export type IssuedKey = Record<'tenant' | 'label' | 'id' | 'key', string>;

/** What a step needs to be run; a new key is reported at once, as the rest of its step may fail. */
interface Run {
  actor: string;
  onIssued: (key: IssuedKey) => void;
}

/** Compares a document with the gateway, and changes nothing. Throws `invalid_input` with all that is wrong with the document. */
export async function planChanges(
  document: object,
  admin: KeyAdmin,
  readRecipe: (path: string) => Promise<object>,
) {
  const declared = [...readDocument(document as Values)];
  const present = await readGateway(admin, declared);
  const plans = [...declared, ...present.values()]
    .filter(({ kind }) => kind === 'plan')
    .map(({ name }) => name);
  const seen = new Set<string>();
  const problems: FieldProblem[] = [];
  const passed = new Set<string>();
  const steps: { change: Change; run: (options: Run) => Promise<unknown> }[] = [];
  for (const entry of declared) {
    const { kind, name, place, values } = entry;
    const id = idOf(entry);
    const wrong = (field: string, problem: string) => void problems.push({ field: place + field, problem });
    if (seen.has(id)) wrong('', `is the ${kind} ${quote(name)}, which stands in the file before`);
    seen.add(id);
    const now = present.get(id);
    if (now && now.ids.length > 1)
      wrong('.label', `is that of ${now.ids.join(' and ')}; give one another label`);
    const { plan } = values;
    if (typeof plan === 'string' && !plans.includes(plan))
      wrong('.plan', `is ${quote(plan)}, but there is no such plan${didYouMean(plan, plans)}`);
    try {
      if (typeof values.definition === 'string') values.definition = await readRecipe(values.definition);
      if (isObject(values.definition)) await admin.checkRecipe(name, values.definition);
      if (typeof values.notice_url === 'string') admin.checkNoticeUrl(values.notice_url, 'notice_url');
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      for (const { field, problem } of error.details ?? [
        { field: kind === 'tenant' ? 'notice_url' : '*', problem: error.message },
      ])
        wrong(['file', 'recipe', '*'].includes(field) ? '' : `.${field}`, problem);
    }
    const fields = differences(now?.values ?? {}, values);
    // An end that has passed since it was applied is no fault.
    if (!fields.expires_at) passed.add(`${place}.expires_at`);
    if (now && Object.keys(fields).length === 0) continue;
    const change: Change = { ...nameOnly(entry), action: now ? 'change' : 'add', fields };
    steps.push({ change, run: (options) => write(admin, change, now, options) });
  }
  const shape = admin.inputs.declaration.check(document).problems.filter(({ field }) => !passed.has(field));
  if (shape.length + problems.length > 0) throw inputError(boundProblems([...shape, ...problems]));
  const leftAlone = [...present].flatMap(([id, each]) => (seen.has(id) ? [] : [nameOnly(each)]));
  return { steps, unchanged: declared.length - steps.length, leftAlone };
}

function nameOnly({ kind, tenant, name }: Named): Named {
  return { kind, ...(tenant && { tenant }), name };
}

function idOf({ kind, tenant = '', name }: Named): string {
  return JSON.stringify([kind, tenant, name]);
}

/** All that a document declares, in the order of its application; what has a wrong shape is empty. */
function* readDocument(document: Values): Generator<Declared> {
  for (const [at, { name, ...plan }] of objectsIn(document.plans).entries())
    yield { kind: 'plan', name: String(name), place: `plans.${at}`, values: flatten(plan) };
  for (const [at, { name, keys, recipes, ...own }] of objectsIn(document.tenants).entries()) {
    const place = `tenants.${at}`;
    const tenant = String(name);
    yield { kind: 'tenant', name: tenant, place, values: flatten(own) };
    for (const [index, { label, ...key }] of objectsIn(keys).entries()) {
      const values = flatten(key);
      yield { kind: 'key', tenant, name: String(label), place: `${place}.keys.${index}`, values };
    }
    for (const [recipe, definition] of Object.entries(isObject(recipes) ? recipes : {})) {
      const at = joinField(`${place}.recipes`, recipe);
      yield { kind: 'recipe', tenant, name: recipe, place: at, values: { definition } };
    }
  }
}

function objectsIn(list: unknown): Values[] {
  return Array.isArray(list) ? list.map((each) => (isObject(each) ? each : {})) : [];
}

function flatten({ limits, ...values }: Values): Values {
  return { ...values, ...(isObject(limits) ? limits : {}) };
}

/** Plans and tenants, and the keys and recipes of those that are declared. */
async function readGateway(admin: KeyAdmin, declared: readonly Named[]): Promise<Map<string, Present>> {
  const present = new Map<string, Present>();
  function add(kind: Named['kind'], name: string, values: Values, { id = name, tenant = '' } = {}): void {
    const named = nameOnly({ kind, tenant, name });
    const others = present.get(idOf(named))?.ids ?? [];
    present.set(idOf(named), { ...named, values, ids: [...others, id] });
  }
  for (const { name, limits, weight } of await admin.plans()) add('plan', name, { ...limits, weight });
  const names = new Set(declared.map(({ kind, name }) => kind === 'tenant' && name));
  for (const view of await allPages('tenants', (page) => admin.listTenants(page))) {
    const { name: tenant, limits, in_force, ...rest } = view;
    const weight = in_force.weight.from === 'tenant' ? in_force.weight.value : null;
    add('tenant', tenant, { ...rest, ...limits, weight });
    if (!names.has(tenant)) continue;
    for (const key of await allPages('keys', (page) => admin.listKeys(tenant, page))) {
      if (key.revoked_at !== null) continue;
      const state = key.paused_at === null ? 'active' : 'paused';
      add('key', key.label ?? key.id, { ...key, ...key.limits, state }, { id: key.id, tenant });
    }
    for (const recipe of (await admin.listRecipes(tenant)).recipes)
      add('recipe', recipe.name, { definition: definitionOf(recipe) }, { tenant });
  }
  return present;
}

/** The declared fields that differ: what is left out of the file stays, null removes a value. */
function differences(present: Values, declared: Values): Change['fields'] {
  const given: Values = { state: 'active', ...present };
  const fields: Change['fields'] = {};
  for (const [field, after] of Object.entries(declared)) {
    const before = given[field] ?? null;
    const isSame = isDeepStrictEqual(comparable(field, before), comparable(field, after));
    if (!isSame) fields[field] = { before, after };
  }
  return fields;
}

/** Scopes in any order, and times however they are written, are the same. */
function comparable(field: string, value: unknown): unknown {
  if (field === 'scopes' && Array.isArray(value)) return [...new Set(value)].sort();
  return field === 'expires_at' && typeof value === 'string' ? (parseTime(value) ?? value) : value;
}

async function write(
  admin: KeyAdmin,
  { kind, tenant = '', name, fields }: Change,
  now: Present | undefined,
  { actor, onIssued }: Run,
): Promise<unknown> {
  const changed: Values = Object.fromEntries(
    Object.entries(fields).map(([field, { after }]) => [field, after]),
  );
  switch (kind) {
    case 'plan':
      return admin.putPlan(name, { ...now?.values, ...changed }, actor);
    case 'recipe':
      return admin.putRecipe(tenant, name, changed.definition as object, actor);
    case 'tenant':
      if (!now) await admin.createTenant(name, actor);
      return admin.editTenant(name, changed, actor);
    case 'key': {
      if (now) return admin.editKey(now.ids.join(), changed, actor);
      const { scopes, expires_at, ...others } = changed as KeyChanges;
      const options = { label: name, scopes: scopes ?? undefined, expires_at: expires_at ?? undefined };
      const { id, key } = await admin.issueKey(tenant, options, actor);
      onIssued({ tenant, label: name, id, key });
      return admin.editKey(id, others, actor);
    }
  }
}
