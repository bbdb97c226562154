import { GatewayError, inputError } from '../../errors.js';
import { fileType } from '../../http/body/file-type.js';
import { createGrowingBuffer, type GrowingBuffer } from '../../http/body/growing-buffer.js';
import type { Parts } from '../../http/body/multipart.js';
import type { PartHeader } from '../../http/body/part-header.js';
import { createPartNames } from '../../http/body/part-names.js';
import { bodyTooLarge } from '../../http/body/text-body.js';
import { mostItems } from '../model.js';
import type { Asked, AskedFile } from './asked.js';

export interface JobPartLimits {
  /** Bytes of the whole body. */
  maxJobBytes: number;
  /** Bytes of one file. */
  maxFileBytes: number;
  /** Bytes of all text fields together. */
  maxTextBytes: number;
}

/** What stood in a form: text fields as bytes, of which UTF-8 is still to be judged, and files in their order. */
export interface JobForm extends Pick<Asked, 'problems'> {
  fields: Map<string, Uint8Array>;
  files: AskedFile[];
}

const maxFields = 100;
const firstTextBytes = 256;
const firstFileBytes = 8 * 1024;

type Part =
  | { kind: 'text'; into: GrowingBuffer | undefined }
  | { kind: 'file'; into: GrowingBuffer; header: PartHeader; field: string | undefined };

/** Gathers the parts of a form that makes a job: each text field may come once, files as often as a job may have items. */
export function createJobParts({ maxJobBytes, maxFileBytes, maxTextBytes }: JobPartLimits): Parts<JobForm> {
  const names = createPartNames();
  const texts = new Map<string, GrowingBuffer>();
  const files: AskedFile[] = [];
  let part: Part | undefined;
  let came = 0;
  let text = 0;
  let fields = 0;
  let fileParts = 0;

  function count(bytes: number): void {
    came += bytes;
    if (came > maxJobBytes) throw bodyTooLarge(maxJobBytes);
  }

  function startFile(header: PartHeader): Part {
    fileParts += 1;
    if (fileParts > mostItems + maxFields) {
      throw inputError([{ field: 'file', problem: `must be given at most ${mostItems} times` }]);
    }
    return {
      kind: 'file',
      into: createGrowingBuffer(maxFileBytes, firstFileBytes),
      header,
      field: names.read(header.name),
    };
  }

  function startText(header: PartHeader): Part {
    fields += 1;
    if (fields > maxFields) {
      throw inputError([{ field: 'body', problem: `must not hold more than ${maxFields} text fields` }]);
    }
    const name = names.readOnce(header.name);
    if (name === undefined) return { kind: 'text', into: undefined };
    const into = createGrowingBuffer(maxTextBytes, firstTextBytes);
    texts.set(name, into);
    return { kind: 'text', into };
  }

  /** A file that is here whole holds no more memory than it has bytes. */
  function endPart(): void {
    const ended = part;
    part = undefined;
    if (ended?.kind !== 'file' || ended.field === undefined) return;
    const { field, into, header } = ended;
    const bytes = into.bytes();
    // What a browser sends of a field in which no file was chosen.
    if (bytes.length === 0 && header.fileName === '') return;
    const named = header.fileName ? { name: header.fileName } : {};
    files.push({ field, bytes, type: fileType(header.type, header.fileName), ...named });
  }

  return {
    listener: {
      onPart(header) {
        endPart();
        part = header.file ? startFile(header) : startText(header);
      },
      onContent(bytes) {
        count(bytes.length);
        if (part?.kind === 'file') {
          if (!part.into.add(bytes)) throw fileTooLarge(fileParts, maxFileBytes);
          return;
        }
        text += bytes.length;
        if (text > maxTextBytes) {
          const message = `The text fields of the form are larger than the ${maxTextBytes} bytes that are accepted.`;
          throw new GatewayError('too_large', { message });
        }
        part?.into?.add(bytes);
      },
      onFraming: count,
    },
    take() {
      endPart();
      for (const name of names.twice) texts.delete(name);
      const gathered = [...texts].map(([name, into]): [string, Uint8Array] => [name, into.bytes()]);
      return { fields: new Map(gathered), files, problems: names.problems };
    },
    drop() {
      texts.clear();
      files.length = 0;
      part = undefined;
    },
  };
}

function fileTooLarge(place: number, maxFileBytes: number): GatewayError {
  const message = `File ${place} of the form is larger than the ${maxFileBytes} bytes that are accepted.`;
  return new GatewayError('too_large', { message });
}
