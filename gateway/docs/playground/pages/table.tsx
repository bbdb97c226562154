import type { ComponentChildren } from 'preact';

/** A table that scrolls sideways by itself where it is too wide, with the keyboard too. */
export function Table({
  label,
  kind,
  children,
}: {
  label: string;
  kind: string;
  children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table class={kind}>{children}</table>
    </section>
  );
}
