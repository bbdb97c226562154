import type { Invitation } from '../accounts/invitations.js';
import { longestNote } from '../accounts/member-admin.js';
import type { Person } from '../accounts/people.js';
import type { FormState } from '../page.js';
import { Copy, Empty, Moment, Notice, Table } from './elements.js';
import { Field, Form } from './form.js';

/** People, open invitations and the form to invite another: for one tenant's members, and for operators. */
export function PeopleView(props: {
  /** Path of this page; its forms lie below it. */
  base: string;
  /** `member` or `operator`. */
  role: string;
  people: readonly Person[];
  invitations: readonly Invitation[];
  state: FormState;
  /** Those who cannot be removed here. */
  fixed?: (person: Person) => boolean;
}) {
  const { base, role, people, invitations, state } = props;
  return (
    <>
      {people.length === 0 ? (
        <Empty title={`No ${role}s yet`}>
          <p>Invite the first one below, and send them the link that you get.</p>
        </Empty>
      ) : (
        <Table
          label={`${role}s`}
          head={
            <>
              <th scope="col">E-mail</th>
              <th scope="col">Name</th>
              <th scope="col">Since</th>
              <th scope="col">
                <span class="hidden">Remove</span>
              </th>
            </>
          }
        >
          {people.map((person) => (
            <tr key={person.id}>
              <th scope="row">{person.email}</th>
              <td>{person.name}</td>
              <td>
                <Moment at={person.since} />
              </td>
              <td>
                {!props.fixed?.(person) && (
                  <Form action={`${base}/${person.id}/remove`}>
                    <button type="submit" class="small quiet-button">
                      Remove<span class="hidden"> {person.email}</span>
                    </button>
                  </Form>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {invitations.length > 0 && <OpenInvitations base={base} invitations={invitations} />}
      <section class="panel">
        <h2>Invite</h2>
        <Form action={`${base}/invitations`} once class="row">
          <Field
            name="note"
            label="For whom"
            state={state}
            required
            maxLength={longestNote}
            hint={`So that you know which link is whose. You get a link that makes one person ${
              role === 'operator' ? 'an operator' : `a ${role}`
            }, once, within seven days.`}
          />
          <button type="submit">Create invitation link</button>
        </Form>
      </section>
    </>
  );
}

function OpenInvitations({ base, invitations }: { base: string; invitations: readonly Invitation[] }) {
  return (
    <>
      <h3>Open invitations</h3>
      <Table
        label="Open invitations"
        head={
          <>
            <th scope="col">For</th>
            <th scope="col">Made by</th>
            <th scope="col">Runs out</th>
            <th scope="col">
              <span class="hidden">Cancel</span>
            </th>
          </>
        }
      >
        {invitations.map((invitation) => (
          <tr key={invitation.id}>
            <th scope="row">{invitation.note}</th>
            <td>{invitation.created_by}</td>
            <td>
              <Moment at={invitation.expires_at} />
            </td>
            <td>
              <Form action={`${base}/invitations/${invitation.id}/cancel`}>
                <button type="submit" class="small quiet-button">
                  Cancel<span class="hidden"> the invitation for {invitation.note}</span>
                </button>
              </Form>
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

/** The page that shows an invitation's link, this once. */
export function InvitationShown({ base, link, note }: { base: string; link: string; note: string }) {
  return (
    <section data-replace={base}>
      <h2>Invitation for {note}</h2>
      <Notice kind="warn">
        <strong>Copy the link now: it is shown this once.</strong> Who has it can join: send it to one person,
        in private.
      </Notice>
      <Copy id="link" label="Invitation link" text={link} />
      <p>It works once, within seven days.</p>
      <p>
        <a class="button" href={base}>
          I have copied it
        </a>
      </p>
    </section>
  );
}
