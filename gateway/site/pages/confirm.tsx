import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { Page, type PageProps } from './document.js';
import { Changes, Form, Notice, ViewContext } from './elements.js';

/** What is asked before something that others notice or that cannot be undone. */
interface Question {
  /** The question, such as "Revoke “billing”?". */
  heading: string;
  /** Where the form goes. */
  action: string;
  /** The button that does it. */
  button: string;
  /** The answer shows a secret. */
  once?: boolean;
  /** What will happen, in the figures of this one thing, and fields of the form. */
  children: ComponentChildren;
}

/** The question as a page of its own; `href` is the page to stay on. */
export function ConfirmPage(props: Omit<PageProps, 'heading'> & Question & { href: string }) {
  const { heading, action, once, button, href, children, ...page } = props;
  const { mayChange } = useContext(ViewContext);
  return (
    <Page {...page}>
      <section class="narrow">
        <h2>{heading}</h2>
        {!mayChange && <Notice kind="warn">Your role may read this and change nothing.</Notice>}
        <Form action={action} once={once ?? false}>
          {children}
          <p class="inline">
            <button type="submit" class="danger-button">
              {button}
            </button>
            <a class="button quiet-button" href={href}>
              Keep it
            </a>
          </p>
        </Form>
      </section>
    </Page>
  );
}

/**
 * A button with its question as a dialog over the page. Without the script the button leads to `href`, where the same
 * question is a page. `id` is unique on the page.
 */
export function ConfirmDialog(
  props: Question & { id: string; href: string; open: string; danger?: boolean },
) {
  const { id, href, open, danger = true, heading, action, button, once, children } = props;
  const look = danger ? 'danger-button' : 'quiet-button';
  return (
    <Changes>
      <a class={`button ${look}`} href={href} data-dialog={id}>
        {open}
      </a>
      <dialog id={id} aria-labelledby={`${id}-heading`} tabIndex={-1}>
        <h2 id={`${id}-heading`}>{heading}</h2>
        <Form action={action} once={once ?? false}>
          {children}
          <p class="inline">
            <button type="submit" class={danger ? 'danger-button' : undefined}>
              {button}
            </button>
            <button type="submit" class="quiet-button" formMethod="dialog" formNoValidate>
              Keep it
            </button>
          </p>
        </Form>
      </dialog>
    </Changes>
  );
}
