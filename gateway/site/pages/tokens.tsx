import { GatewayError, requireValid } from '../../errors.js';
import { formState, get, post, postOnce, refused, type UserCall } from '../page.js';
import { ConfirmPage } from './confirm.js';
import { Page, ShownPage } from './document.js';
import { Changes, Choices, CopyBox, Empty, Field, Form, Moment, Notice, Table } from './elements.js';
import { roleNames } from './members.js';

/** API tokens of programs that use the JSON API. */
export const tokenPages = [
  get.operator('/tokens', tokensPage),
  postOnce.operator('/tokens', createToken),
  get.operator('/tokens/:token/revoke', confirmRevokePage),
  post.operator('/tokens/:token/revoke', async ({ site, params, visitor }) => {
    await site.tokens.revoke(params.token ?? '', visitor.user);
    return { redirect: '/tokens?done=revoked' };
  }),
];

async function tokensPage({ site, query }: UserCall) {
  const tokens = await site.tokens.list();
  return (
    <Page title="API tokens">
      {query.get('done') === 'revoked' && (
        <Notice kind="good">The token was revoked. It opens nothing.</Notice>
      )}
      <p class="lead">
        Programs use the JSON API and <code>/metrics</code> with a token of their own. The audit log names
        what they do by the token’s label.
      </p>
      <Empty of={tokens} title="No tokens yet">
        Make one for each program, so that each can be revoked by itself.
      </Empty>
      <Table
        label="API tokens"
        rows={tokens}
        columns={[
          { head: 'Label', rowHead: true, cell: ({ label }) => label },
          { head: 'Role', cell: ({ role }) => roleNames[role] },
          { head: 'Expires', cell: ({ expires_at }) => <Moment at={expires_at} none="never" /> },
          {
            head: 'Last used',
            priority: 2,
            cell: ({ last_used_at }) => <Moment at={last_used_at} none="never" />,
          },
          { head: 'Made', priority: 2, cell: ({ created_at }) => <Moment at={created_at} /> },
          { head: 'By', priority: 3, cell: ({ created_by }) => created_by },
          {
            head: 'Revoke',
            hiddenHead: true,
            cell: ({ id, label }) => (
              <Changes>
                <a class="button small quiet-button" href={`/tokens/${id}/revoke`}>
                  Revoke…<span class="hidden"> {label}</span>
                </a>
              </Changes>
            ),
          },
        ]}
      />
      <Changes>
        <section class="panel">
          <h2>New token</h2>
          <Form action="/tokens" once>
            <Field name="label" label="Label" required maxLength={100} hint="Which program uses it." />
            <Choices
              name="role"
              label="Role"
              value="support"
              options={[
                ['support', 'Support: reads, and sees no secret'],
                ['operator', 'Operator: may do everything'],
              ]}
            />
            <Field name="expires_at" label="Expires" type="date" hint="When this day begins, in UTC." />
            <button type="submit">Make token</button>
          </Form>
        </section>
      </Changes>
    </Page>
  );
}

async function createToken(call: UserCall) {
  const { site, form, visitor } = call;
  try {
    const given = ['label', 'role', 'expires_at'].map((name) => [name, form.get(name) || undefined]);
    const options = requireValid(site.admin.inputs.token.check(Object.fromEntries(given)));
    const { token, label, role } = await site.tokens.create(options, visitor.user);
    return (
      <ShownPage title="New token" heading={`Token of “${label}”`} href="/tokens" back="I have copied it">
        <Notice kind="warn">
          <strong>Copy it now: it is shown this once.</strong>{' '}
          {role === 'operator'
            ? 'Who has it can do what an operator can.'
            : 'Who has it can read everything.'}
        </Notice>
        <CopyBox id="token" label="API token" text={token} />
      </ShownPage>
    );
  } catch (error) {
    return refused(formState(error, form, 'label'), await tokensPage(call));
  }
}

async function confirmRevokePage({ site, params }: UserCall) {
  const token = (await site.tokens.list()).find(({ id }) => id === params.token);
  if (!token) throw new GatewayError('not_found');
  const { id, label, last_used_at } = token;
  return (
    <ConfirmPage
      title={`Revoke ${label}`}
      heading={`Revoke “${label}”?`}
      action={`/tokens/${id}/revoke`}
      button="Revoke for good"
      href="/tokens"
    >
      <p>
        It was last used <Moment at={last_used_at} none="never" />. The program that has it is refused at
        once. This cannot be undone.
      </p>
    </ConfirmPage>
  );
}
