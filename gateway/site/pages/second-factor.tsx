import { encode } from 'uqr';
import { get, post, postOnce, refused, setUpPath, type UserCall } from '../page.js';
import { checkPassword } from './account.js';
import { Page, ShownPage } from './document.js';
import { CopyBox, Field, Form, Notice } from './elements.js';
import { CodeField, rateLimited, tooMany } from './sign-in.js';

/** Setting up a second factor of one's own account, and turning it off. */
export const secondFactorPages = [
  get.user(setUpPath, secondFactorPage),
  postOnce.user(setUpPath, turnOn),
  post.user(`${setUpPath}/off`, turnOff),
];

async function secondFactorPage(call: UserCall) {
  const { site, visitor, form } = call;
  if (visitor.secondFactor) return onPage(await site.factor.codesLeft(visitor.user.id));
  const { sealed, text, address } = site.factor.secretFor(visitor.user, form.get('sealed') ?? '');
  return (
    <Page title="Second factor" narrow>
      {visitor.mustSetUp && (
        <Notice kind="warn">
          This gateway asks for a second factor. Set it up first; then all else opens.
        </Notice>
      )}
      <p>
        A code from your phone beside the password: who guesses or steals the password alone does not get in.
      </p>
      <ol>
        <li>Open an app for one-time passwords, such as Aegis, 2FAS or your password manager.</li>
        <li>
          Scan this code, or type the secret below it.
          <QrCode text={address} />
          <CopyBox id="secret" label="Secret" text={text.match(/.{4}/g)?.join(' ') ?? text} />
        </li>
        <li>Type the six digits that the app shows.</li>
      </ol>
      <Form action={setUpPath} once>
        <input type="hidden" name="sealed" value={sealed} />
        <Field name="code" label="Code" required autocomplete="one-time-code" />
        <button type="submit">Turn on</button>
      </Form>
    </Page>
  );
}

function onPage(codesLeft: number) {
  return (
    <Page title="Second factor" narrow>
      <p>
        It is on: signing in with your password asks for a code. {codesLeft} of your recovery codes are left.
        For new ones, or another phone, turn it off and on again.
      </p>
      <Form action={`${setUpPath}/off`}>
        <Field
          name="confirm"
          label="Your password"
          type="password"
          required
          autocomplete="current-password"
        />
        <CodeField />
        <button type="submit" class="danger-button">
          Turn off
        </button>
      </Form>
    </Page>
  );
}

async function turnOn(call: UserCall) {
  const { site, form, visitor } = call;
  const again = async (code: string) =>
    refused({ values: form, problems: { code } }, await secondFactorPage(call));
  const codes = await site.factor.turnOn(visitor.user, form.get('sealed') ?? '', form.get('code') ?? '');
  if (!codes) return again('is not the one of this moment; check the clock of your phone');
  return (
    <ShownPage title="Recovery codes" href="/account" back="I have stored them">
      <Notice kind="warn">
        <strong>Store these now: they are shown this once.</strong> Each opens your account once in place of a
        code, when your phone is lost.
      </Notice>
      <CopyBox id="codes" label="Recovery codes" text={codes.join('\n')} />
    </ShownPage>
  );
}

async function turnOff(call: UserCall) {
  const { site, form, cookie, address, visitor } = call;
  const { user } = visitor;
  const page = await secondFactorPage(call);
  const again = (code: string) => refused({ values: form, problems: { code } }, page);
  const wrong = await checkPassword(call, 'confirm', page);
  if (wrong) return wrong;
  const attempt = { address, account: user.email, device: site.devices.recognise(cookie, user.email) };
  const wait = await site.codes.attempt(attempt);
  if (wait > 0) return rateLimited(again(tooMany(wait)), wait);
  if (!(await site.factor.pass(user, form.get('code') ?? '')))
    return again('is wrong, or was used before: each works once');
  await site.codes.succeed(attempt);
  await site.factor.turnOff(user);
  return { redirect: '/account' };
}

/** Black on white in every colour scheme, or cameras do not read it. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const dots = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')));
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the secret">
      <rect width={size} height={size} fill="#fff" />
      <path d={dots.join('')} fill="#000" />
    </svg>
  );
}
