import type { Scenario } from '../scenario.js';
import { bodyFuzz } from './body-fuzz.js';
import { costlyAtOnce, quietTenant, singleRequests } from './costly-bodies.js';
import { goodput } from './goodput.js';
import { headFuzz } from './head-fuzz.js';
import { fullDisk, jobs, unreadItems } from './jobs.js';
import { messageFuzz } from './message-fuzz.js';
import { manyPictures } from './pictures.js';
import { manyKeys, slowArrivals, slowClients, unreadAnswers } from './slow-clients.js';

type Part = { scenario: Scenario; calls: number; seconds: number; long?: true };

/** What the soak goes through in a round, and how much of each; what takes long is made only where it is asked for by name. */
export const rounds: readonly Part[] = [
  ...bodyFuzz.map((scenario) => ({ scenario, calls: 20_000, seconds: 0 })),
  ...messageFuzz.map((scenario) => ({ scenario, calls: 10_000, seconds: 0 })),
  ...headFuzz.map((scenario) => ({ scenario, calls: 20_000, seconds: 0 })),
  { scenario: slowClients, calls: 320, seconds: 20 },
  { scenario: manyKeys, calls: 5_000, seconds: 0 },
  { scenario: costlyAtOnce, calls: 0, seconds: 15 },
  { scenario: singleRequests(), calls: 2, seconds: 0 },
  { scenario: slowArrivals, calls: 0, seconds: 15 },
  { scenario: unreadAnswers, calls: 700, seconds: 10 },
  { scenario: quietTenant, calls: 0, seconds: 20 },
  { scenario: goodput(), calls: 0, seconds: 8 },
  { scenario: jobs, calls: 12, seconds: 0 },
  { scenario: unreadItems, calls: 80, seconds: 5 },
  { scenario: fullDisk, calls: 200, seconds: 0 },
  { scenario: manyPictures, calls: 40_000, seconds: 0, long: true },
];
