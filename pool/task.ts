import type { RawInput, ValidatedInput } from '../schemas/input/validate-input.js';
import type { ParameterDeclaration } from '../schemas/parameters/parameters.js';
import type { BodyAnswer, BytesAnswer } from './answer.js';
import type { FetchRefusal, LogLine } from './context/messages.js';
import type { Thrown } from './errors.js';
import type { EngineChoice, EngineName, ImageHeader, ImageLimits } from './image/engine.js';
import type { PluginModule } from './plugin.js';

/** One call of a plugin's handler, as it travels to a worker. */
export interface CallTask {
  kind: 'call';
  /** URL of the plugin's module. */
  plugin: string;
  /** Which of the plugin's functions is called. */
  does: 'handler' | 'dryrun';
  input: Record<string, unknown>;
  context: { service: string; request_id: string };
  /** The files that came, by their fields; their bytes are moved to the worker, or copied where they are shared. */
  files?: TaskFiles;
  /** Milliseconds of its own deadline, where that is shorter than any task's. */
  timeoutMs?: number;
  /** What it asks for, one of a few, where that makes its calls unlike in cost; see `Costs`. */
  variant?: string;
  /** Pixels or characters of what it works on; see `Costs`. */
  size?: number | undefined;
  /** In place of `plugin`, what runs on the picture, one after another; `input` has the result's `format` and `quality`. */
  steps?: readonly CallStep[];
}

/** A call of a handler within another, with the picture of the step before it. Its other files are among the call's, as `1.mark`. */
export interface CallStep {
  plugin: string;
  service: string;
  input: Record<string, unknown>;
  /** What the caller named its files, by their fields. */
  names: Readonly<Record<string, string>>;
}

/** The urls of the plugins that a task needs. */
export function pluginsOf(task: Task): string[] {
  if (task.kind !== 'call') return [];
  return task.steps ? [...new Set(task.steps.map(({ plugin }) => plugin))] : [task.plugin];
}

/** Whose calls a task is one of: a helper's, or those of the same helpers one after another. */
export function serviceOf({
  context,
  steps,
}: Pick<CallTask, 'steps'> & { context: { service: string } }): string {
  return steps ? [...new Set(steps.map(({ service }) => service))].sort().join(' + ') : context.service;
}

/** A file as it came. */
export interface FileBytes {
  bytes: Uint8Array;
  /** Media type, as its sender says. */
  type: string;
  name?: string;
  /** Of a picture whose header was checked: a worker does not read it again. */
  header?: ImageHeader;
  /** Others use the same bytes, now or later: a worker gets a copy of them. */
  shared?: true;
}

export type TaskFiles = Readonly<Record<string, FileBytes>>;

/** An input to be validated by a helper's schema, off the main thread. */
export interface ValidateTask {
  kind: 'validate';
  service: string;
  declaration: ParameterDeclaration;
  raw: RawInput;
  /** A dry run does the work all the same. */
  runsDry: boolean;
}

/** A picture to be shown where no larger one is accepted. */
export interface PreviewTask {
  kind: 'preview';
  bytes: Uint8Array;
  /** Of the preview. */
  maxBytes: number;
}

export type Task = CallTask | ValidateTask | PreviewTask;

/** A task with its number in the thread, by which it is named while it runs. */
export interface NumberedTask {
  number: number;
  task: Task;
}

interface Results {
  call: BytesAnswer;
  validate: ValidatedInput;
  preview: BodyAnswer;
}

/** What a worker sends back of a task of this kind. Errors travel as data: of a thrown one only the message would arrive. */
export type TaskOutcome<K extends Task['kind'] = Task['kind']> =
  | { ok: true; value: Results[K]; ms: number }
  | ({ ok: false; ms: number } & Failed);

/** What a task ended with; `refusal` where that was the gateway's own word, which a handler did not catch. */
export interface Failed extends Thrown {
  refusal?: FetchRefusal;
  /** Of several steps the one that failed, counted from 0. */
  step?: number;
}

/** What threads report to the main thread, and request of it. */
export interface ThreadHooks {
  /** Called with each line of a handler's log. */
  onLog?: (line: LogLine) => void;
  /** Called where a start waits for a plugin's `setup`. */
  onSlowSetup?: (module: PluginModule) => void;
  /** The plugin of a url that a thread has not loaded, which its first task then waits for. */
  onDemand?: (url: string) => PluginModule | undefined;
}

/** What every worker is started with. */
export interface WorkerSettings {
  /** Imported and set up before a worker takes tasks; the engines load meanwhile. */
  plugins?: Promise<readonly PluginModule[]>;
  /** What stays on the main thread. */
  hooks?: ThreadHooks;
  engine: EngineChoice;
  limits: ImageLimits;
  /** Font files and folders besides the shipped one. */
  fonts: readonly string[];
  /** Bytes of JSON that a handler may answer with. */
  maxJsonBytes: number;
  /** Bytes that one answer may have. */
  maxBodyBytes?: number | undefined;
  /** Loads what pictures and long inputs need when the first comes; `engine` is known to be there then, and is not `auto`. */
  lean?: boolean;
  /** Wall clock of one task; native code stops by then. */
  taskTimeoutMs: number;
  /** Lines of a handler's log below this level are not made; none are where it is absent. */
  logLevel?: string;
  /** Resolves `helper-gateway/helper` for plugins outside the package. */
  helperUrl?: string;
}

/** What a worker says of itself once it has started. */
export interface WorkerReport {
  engine: EngineName;
  /** Of the engine and of what it stands on; absent where it is loaded later. */
  version?: string;
  /** Why Jimp stands in for sharp; absent where it does not. */
  fallbackReason?: string;
}
