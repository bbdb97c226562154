import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { FormState } from '../page.js';
import { ViewContext } from './view.js';

/** A POST form with its token; `once` for one whose answer shows a secret. */
export function Form(props: {
  action: string;
  once?: boolean;
  class?: string;
  label?: string;
  children: ComponentChildren;
}) {
  const { formToken, mark } = useContext(ViewContext);
  return (
    <form method="post" action={props.action} class={props.class} aria-label={props.label}>
      <input type="hidden" name="_token" value={formToken} />
      {props.once && <input type="hidden" name="_once" value={mark()} />}
      {props.children}
    </form>
  );
}

interface FieldProps {
  name: string;
  label: string;
  state: FormState;
  hint?: ComponentChildren;
  type?: 'text' | 'email' | 'password' | 'date' | 'number';
  /** What it holds before anything was typed. */
  value?: string;
  placeholder?: string;
  required?: boolean;
  autocomplete?: string;
  min?: number;
  max?: number;
  step?: string;
  maxLength?: number;
  minLength?: number;
  /** As wide as there is room, for what is long. */
  wide?: boolean;
}

/** A labelled input with its hint and, beside it, what is wrong with it. A password that was typed is not sent back. */
export function Field({ name, label, state, hint, type = 'text', value = '', ...props }: FieldProps) {
  const problem = state.problems[name];
  const described = [hint ? `${name}-hint` : '', problem ? `${name}-problem` : ''].filter(Boolean).join(' ');
  return (
    <div class={`field${problem ? ' wrong' : ''}${props.wide ? ' wide' : ''}`}>
      <label for={name}>
        {label}
        {!props.required && <span class="optional"> optional</span>}
      </label>
      <input
        id={name}
        name={name}
        // The types have one input for each kind; which one it is does not matter here.
        type={type as 'text'}
        value={type === 'password' ? '' : (state.values.get(name) ?? value)}
        placeholder={props.placeholder}
        required={props.required}
        autocomplete={props.autocomplete ?? 'off'}
        autocapitalize="none"
        spellcheck={false}
        min={props.min}
        max={props.max}
        step={props.step}
        maxLength={props.maxLength}
        minLength={props.minLength}
        aria-invalid={problem ? 'true' : undefined}
        aria-describedby={described || undefined}
      />
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${name}-problem`}>
          {sentence(label, problem)}
        </p>
      )}
    </div>
  );
}

/** Radio buttons as one question. */
export function Choices(props: {
  name: string;
  label: string;
  state: FormState;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
}) {
  const { name, label, state, options } = props;
  const chosen = state.values.get(name) ?? props.value;
  return (
    <fieldset>
      <legend>{label}</legend>
      <div class="choices">
        {options.map(([value, text]) => (
          <label class="choice" key={value}>
            <input type="radio" name={name} value={value} checked={value === chosen} /> {text}
          </label>
        ))}
      </div>
      {state.problems[name] && <p class="problem">{sentence(label, state.problems[name])}</p>}
    </fieldset>
  );
}

/** Problems read on from the field's name: "must be …", "is 5; it must …". */
function sentence(label: string, problem: string): string {
  return /^(is|has|must|names|may|was)\b/.test(problem) ? `${label} ${problem}.` : problem;
}
