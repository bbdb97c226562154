import type { Assets } from './assets.js';

/** What a plugin's file is not served for, or not in its newest version. */
export interface PluginProblem {
  file: string;
  reason: string;
}

/** What bounds a call of any helper. */
export interface ShownLimits {
  maxTextBytes: number;
  maxImageBytes: number;
  maxPixels: number;
  maxFrames: number;
  taskTimeoutMs: number;
  sourceTimeoutMs: number;
}

/** What is the same on every page. */
export interface PageFrame {
  assets: Assets;
  problems: readonly PluginProblem[];
  /** Whether pages are to follow a change of the helpers. */
  live: boolean;
}
