import type { TenantRow } from '../keys/tables.js';

/** Times are integers (ms since 1970), as in the tables of keys. */
export type SiteTables = {
  connect_operators: { user_id: string; created_at: number };
  connect_members: { tenant_id: string; user_id: string; created_at: number };
  connect_invitations: InvitationRow;
  connect_settings: { name: string; value: string };
  connect_once: { id: string; at: number };
  /** better-auth wants it; nothing is kept in it. */
  connect_verifications: { id: string };
  connect_users: UserRow;
  connect_accounts: AccountRow;
  connect_sessions: SessionRow;
  /** The keys' own, read for the names of a member's tenants. */
  tenants: Pick<TenantRow, 'id' | 'name'>;
};

export interface InvitationRow {
  id: string;
  /** SHA-256 of the link's token, hexadecimal. */
  token_hash: string;
  /** Null invites an operator. */
  tenant_id: string | null;
  /** Whom it is for, in the operator's words. */
  note: string;
  /** The inviter's e-mail, by which their right is checked; it is unique, and no account ever changes its own. */
  created_by: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

/** What better-auth keeps in a column for a moment or a truth: text and 0/1 in SQLite, PostgreSQL's own types there. */
type Moment = string | Date;
type Truth = number | boolean;

/** These three are better-auth's own, so their columns have its names. */
export interface UserRow {
  id: string;
  name: string;
  email: string;
  emailVerified: Truth;
  createdAt: Moment;
  updatedAt: Moment;
}

export interface AccountRow {
  id: string;
  accountId: string;
  providerId: string;
  userId: string;
  password: string | null;
  createdAt: Moment;
  updatedAt: Moment;
}

export interface SessionRow {
  id: string;
  /** SHA-256 of the token, hexadecimal. */
  token: string;
  userId: string;
  expiresAt: Moment;
}
