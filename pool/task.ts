import type { ImageLimits } from './image/engine.js';
import type { PluginModule } from './plugin-module.js';
import type { Thrown } from './thrown.js';

/** One call of a plugin's handler, as it travels to a worker. */
export interface Task {
  /** URL of the plugin's module. */
  plugin: string;
  input: Record<string, unknown>;
  context: { service: string; request_id: string };
  /** The picture's bytes, moved to the worker, where the plugin has a source. */
  source?: Uint8Array;
}

/** What a worker sends back. Errors travel as data: of a thrown one only the message would arrive. */
export type TaskOutcome = { ok: true; value: unknown; ms: number } | ({ ok: false; ms: number } & Thrown);

/** What every worker is started with. */
export interface WorkerSettings {
  /** Imported before a worker takes tasks; the engines load meanwhile. Any other is imported by its first task. */
  plugins?: Promise<readonly PluginModule[]>;
  engine: 'auto' | 'sharp' | 'jimp';
  limits: ImageLimits;
  /** Font files and folders besides the shipped one. */
  fonts: readonly string[];
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
