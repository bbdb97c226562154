import type { JudgedInput, RawInput } from '../schemas/input/judge-input.js';
import type { ParameterDeclaration } from '../schemas/parameters.js';
import type { BytesAnswer } from './answer.js';
import type { ImageLimits } from './image/engine.js';
import type { PluginModule } from './plugin-module.js';
import type { Thrown } from './thrown.js';

/** One call of a plugin's handler, as it travels to a worker. */
export interface CallTask {
  kind: 'call';
  /** URL of the plugin's module. */
  plugin: string;
  input: Record<string, unknown>;
  context: { service: string; request_id: string };
  /** The picture's bytes, moved to the worker, where the plugin has a source. */
  source?: Uint8Array;
}

/** An input to be judged by a helper's schema where it keeps nobody waiting. */
export interface JudgeTask {
  kind: 'judge';
  service: string;
  declaration: ParameterDeclaration;
  raw: RawInput;
  /** A dry run does the work all the same. */
  runsDry: boolean;
}

export type Task = CallTask | JudgeTask;

interface Results {
  call: BytesAnswer;
  judge: JudgedInput;
}

/** What a worker sends back of a task of this kind. Errors travel as data: of a thrown one only the message would arrive. */
export type TaskOutcome<K extends Task['kind'] = Task['kind']> =
  | { ok: true; value: Results[K]; ms: number }
  | ({ ok: false; ms: number } & Thrown);

/** What every worker is started with. */
export interface WorkerSettings {
  /** Imported before a worker takes tasks; the engines load meanwhile. Any other is imported by its first task. */
  plugins?: Promise<readonly PluginModule[]>;
  engine: 'auto' | 'sharp' | 'jimp';
  limits: ImageLimits;
  /** Font files and folders besides the shipped one. */
  fonts: readonly string[];
  /** Bytes of JSON that a handler may answer with. */
  maxJsonBytes: number;
  /** Wall clock of one task; native code is told to stop by then. */
  taskTimeoutMs: number;
  /** Resolves `helper-gateway/helper` for plugins outside the package. */
  helperUrl?: string;
}

/** What a worker says of itself once it has started. */
export interface WorkerReport {
  engine: 'sharp' | 'jimp';
  /** Why Jimp stands in for sharp; absent where it does not. */
  fallbackReason?: string;
}
