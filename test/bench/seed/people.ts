import { hashSecret } from '../../../gateway/keys/model.js';
import type { Row } from './bulk.js';
import { type Draw, drawPerson } from './draw.js';
import { dayMs, type NewAudit, type SeedTenant } from './tenants.js';

export const operatorEmail = 'operator@example.com';

/** Operators, support and the people of tenants, all with one password; invitations, sessions and tokens. */
export function drawPeople(draw: Draw, tenants: readonly SeedTenant[], password: string, now: number) {
  const { chance, whole, share } = draw;
  const audit: NewAudit[] = [];
  const people = new Map<string, Row>();
  const operators: Row[] = [];
  const members: Row[] = [];
  const readers: Row[] = [];
  const invitations: Row[] = [];
  const sessions: Row[] = [];
  const ago = (days: number) => Math.round(now - share() * days * dayMs);

  function addPerson({ name, email }: { name: string; email: string }): string {
    const id = draw.text(22);
    people.set(email, { id, name, email, password });
    for (let signIns = chance(0.8) ? whole(1, 4) : 0; signIns > 0; signIns -= 1) {
      const detail = { address: `198.51.100.${whole(1, 254)}` };
      audit.push({ at: ago(60), actor: `user:${email}`, action: 'account.sign_in', ...siteWide, detail });
    }
    return id;
  }

  function addOperator(person: { name: string; email: string }, role: 'operator' | 'support'): void {
    const user_id = addPerson(person);
    const place = { user_id, created_at: ago(300) };
    if (role === 'operator') operators.push(place);
    else readers.push({ tenant_id: null, ...place });
    sessions.push({
      ...{ id: hashSecret(draw.text(32)), user_id, created_at: now - 5 * dayMs, seen_at: ago(4) },
      ...{ expires_at: now + 7 * dayMs, address: `198.51.100.${whole(1, 254)}` },
      agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    });
  }

  addOperator({ name: 'Olu Adeyemi', email: operatorEmail }, 'operator');
  addOperator({ name: 'Grace Okafor', email: 'grace.okafor@example.com' }, 'operator');
  for (const role of ['operator', 'support', 'support', 'support'] as const) {
    addOperator(drawPerson(draw, 'example.com'), role);
  }
  for (const { row } of tenants) {
    for (let count = whole(0, 3); count > 0; count -= 1) {
      const person = drawPerson(draw, `${row.name}.example`);
      if (people.has(person.email)) continue;
      const created_at = Math.round(row.created_at + share() * (now - row.created_at));
      const user_id = addPerson(person);
      (chance(0.75) ? members : readers).push({ tenant_id: row.id, user_id, created_at });
      const entry = { at: created_at, actor: `user:${person.email}`, tenant_id: row.id, key_id: null };
      audit.push({ ...entry, action: 'member.join', detail: {} });
    }
    if (chance(0.08)) {
      const created_at = ago(2);
      invitations.push({
        ...{ id: draw.text(22), token_hash: hashSecret(draw.text(32)), tenant_id: row.id, role: 'member' },
        ...{ note: drawPerson(draw, 'example.com').name, created_by: operatorEmail, created_at },
        ...{ expires_at: created_at + 7 * dayMs, used_at: null },
      });
    }
  }
  const token = (label: string, role: string, expires_at: number | null): Row => ({
    ...{ id: draw.text(22), label, role, hash: hashSecret(draw.text(32)), created_at: ago(200) },
    ...{ created_by: `user:${operatorEmail}`, expires_at, last_used_at: ago(3) },
  });
  const tokens = [
    token('Billing export', 'support', null),
    token('Terraform', 'operator', now + 90 * dayMs),
    token('Grafana', 'support', now + 6 * dayMs),
  ];
  return { users: [...people.values()], operators, members, readers, invitations, sessions, tokens, audit };
}

const siteWide = { tenant_id: null, key_id: null };
