import type { Condition } from '../../../schemas/vocabulary/only-with.js';

/** What all controls have. */
interface Common {
  /** The parameter, with the path to it where it is nested: `size.width`. */
  path: string;
  description?: string;
  /** What is allowed, as a noun. */
  allowed: string;
  required: boolean;
  /** Absent where there is none. */
  default?: unknown;
  /** The values of other parameters that it goes with; beside any it is sent where this is absent. */
  onlyWith?: readonly Condition[];
}

/** A value that is one text on the page; `types` says what the text may stand for. */
interface Scalar extends Common {
  types: readonly string[];
  /** Whether an empty text is a value, and not the absence of one. */
  sendsEmpty?: boolean;
}

export type TextControl = Scalar & { kind: 'text'; multiline: boolean };
export type NumberControl = Scalar & {
  kind: 'number';
  min?: number;
  max?: number;
  step: number;
  /** Whether a slider helps: both ends are known and near enough to each other. */
  slider: boolean;
  /** What it counts. */
  unit?: string;
};
/** A text that may be pixels, per cent or `auto`. */
export type MeasureControl = Scalar & { kind: 'measure'; unit: string; auto: boolean };
/** A text with a native picker beside it. */
export type ColorControl = Scalar & { kind: 'color'; auto: boolean };
export type ChoiceControl = Scalar & {
  kind: 'choice';
  options: readonly unknown[];
  /** Other spellings of the options. */
  aliases?: Readonly<Record<string, readonly string[]>>;
};
export type GroupControl = Common & { kind: 'group'; members: readonly Control[] };
/** Alternatives that a property tells apart. */
export type VariantsControl = Common & {
  kind: 'variants';
  tag: ChoiceControl;
  variants: readonly { value: unknown; members: readonly Control[] }[];
};

/** How one parameter is given on a page. */
export type Control =
  | TextControl
  | NumberControl
  | ChoiceControl
  | GroupControl
  | VariantsControl
  | ColorControl
  | MeasureControl
  /** A text with a slider from 0 to 1 beside it. */
  | (Scalar & { kind: 'fraction' })
  | (Common & { kind: 'switch' })
  /** Texts with commas between them; `types` are those of an item. */
  | (Scalar & { kind: 'list' })
  /** What no other control can give: JSON. */
  | (Common & { kind: 'json' });
