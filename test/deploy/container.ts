import { chownSync, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from '../gateway/harness.js';

/** The image's root file system, as .build/rootfs.sh makes it; empty where nobody made one. */
export const image = process.env.TEST_ROOTFS ?? '';

/** What the image says of how it is run. */
export interface ImageConfig {
  User: string;
  Env: string[];
  Cmd: string[];
  Entrypoint: string[];
  StopSignal: string;
  Volumes: Record<string, object>;
  ExposedPorts: Record<string, object>;
  Labels: Record<string, string>;
  Healthcheck: { Test: string[] };
}

/** Why no container can be run here, if so. */
export function containerNeeds(): string | undefined {
  if (!existsSync(join(image, 'app'))) return 'the folder that .build/rootfs.sh makes, in TEST_ROOTFS';
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'root, to mount the image read-only';
  return undefined;
}

export function readImageConfig(): ImageConfig {
  const { Docker } = JSON.parse(readFileSync(`${image}.json`, 'utf8')) as { Docker: { config: ImageConfig } };
  return Docker.config;
}

/** A volume for /data, of the user that the image's own folder belongs to. */
export function createVolume(owner: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'volume-'));
  chownSync(folder, owner, owner);
  return folder;
}

// As a container with a read-only root is run: one's own mounts, nothing but the volume and /tmp to write to, no privilege left.
// Each step becomes the next, so that signals reach what runs in the end.
const enter = `
set -e
mount --make-rprivate /
mount --bind "$0" "$0"
mount -o remount,bind,ro,nosuid "$0"
mount --rbind /proc "$0/proc"
mount --rbind /dev "$0/dev"
mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"
mount --bind "$1" "$0/data"
user=$2
shift 2
exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$0" "$@"
`;

/** Runs a command in the image, as its user; `env` is added to the image's own environment. */
export function runInImage(command: string[], volume: string, env: NodeJS.ProcessEnv = {}): Child {
  const { Env, User } = readImageConfig();
  const own = Object.fromEntries(Env.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  return startChild('unshare', ['--mount', 'sh', '-c', enter, image, volume, User, ...command], {
    env: { ...own, ...env },
  });
}
