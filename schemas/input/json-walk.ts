import { isUtf8 } from 'node:buffer';
import { mostLevels } from './parse.js';

/** Where JSON's numbers, literals and escapes end, in bytes; of what is none, the place of the byte that is wrong. */
type TokenEnd = { end: number } | { wrong: number };

const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text));
const escapes = Buffer.from('"\\/bfnrtu');

function endOfNumber(bytes: Uint8Array, start: number): TokenEnd {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  const digits = () => {
    if (!isDigit(bytes[at])) return false;
    while (isDigit(bytes[at])) at += 1;
    return true;
  };
  if (bytes[at] === 0x30) at += 1;
  else if (!digits()) return { wrong: at };
  if (bytes[at] === 0x2e) {
    at += 1;
    if (!digits()) return { wrong: at };
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at += bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d ? 2 : 1;
    if (!digits()) return { wrong: at };
  }
  return { end: at };
}

function endOfLiteral(bytes: Uint8Array, start: number): TokenEnd {
  const found = literals.find((literal) => literal.equals(bytes.subarray(start, start + literal.length)));
  return found ? { end: start + found.length } : { wrong: start };
}

/** The end of an escape whose backslash is at `start`. */
function endOfEscape(bytes: Uint8Array, start: number): TokenEnd {
  const escaped = bytes[start + 1];
  if (escaped === undefined || !escapes.includes(escaped)) return { wrong: start + 1 };
  if (escaped !== 0x75) return { end: start + 2 };
  for (let at = start + 2; at < start + 6; at += 1) if (!isHex(bytes[at])) return { wrong: at };
  return { end: start + 6 };
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  // Bit 0x20 makes a capital letter small.
  return isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

/** A value that has ended. */
export interface WalkedValue {
  /** Objects and lists around it. */
  depth: number;
  /** Whether it is an element of a list, and no member of an object. */
  inList: boolean;
  /** Its first byte, and the one behind its last. */
  start: number;
  end: number;
  /** Of a value of depth 2: names in it, at any depth. */
  names: number;
}

/** Called for the outermost two levels only: what is deeper is part of their values. */
export interface WalkListener {
  /** A name of the outermost object, with its quotes. */
  onName(start: number, end: number): void;
  /** A name of an object that is a member of the outermost one. */
  onInnerName?(start: number, end: number): void;
  onValue(value: WalkedValue): void;
}

/** Why bytes are not JSON, or refused JSON; the message continues "must …". */
export class JsonFault extends Error {
  /** Whether it is JSON, but the current value is refused. */
  readonly isOfValue: boolean;

  constructor(message: string, { isOfValue = false } = {}) {
    super(message);
    this.isOfValue = isOfValue;
  }
}

/** Levels in all: those of an input, in a list, in an object. */
const mostOpen = mostLevels + 2;

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'more' | 'end';

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openList = 0x5b;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/**
 * Validates JSON text (RFC 8259, in UTF-8) in steps and reports where its outer values are, without parsing them: so a body of many
 * megabytes does not block the thread, and what is cut out of it stays as it was written. Throws a `JsonFault`. Own code because
 * `JSON.parse` cannot be interrupted, and streaming parsers make an object or an event of every value.
 */
export class JsonWalk {
  readonly #bytes: Uint8Array;
  readonly #listener: WalkListener;
  #at: number;
  #expects: Expected = 'value';
  /** Where what is open began, the outermost first. */
  readonly #open: { start: number; isList: boolean }[] = [];
  #string: { start: number; isName: boolean } | undefined;
  #names = 0;

  constructor(bytes: Uint8Array, listener: WalkListener) {
    this.#bytes = bytes;
    this.#listener = listener;
    // A byte order mark.
    this.#at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  }

  /** Walks over about this many bytes; false once all have been walked over. */
  step(most: number): boolean {
    const until = Math.min(this.#at + most, this.#bytes.length);
    while (this.#at < until) {
      if (this.#string) this.#readString(until);
      else this.#readToken();
    }
    if (this.#at < this.#bytes.length) return true;
    if (this.#expects !== 'end') throw new JsonFault('be JSON that is complete: it breaks off');
    return false;
  }

  #readToken(): void {
    const byte = this.#bytes[this.#at] as number;
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) this.#at += 1;
    else if (this.#expects === 'more') this.#readSeparator(byte);
    else if (this.#expects === 'colon') this.#readColon(byte);
    else if (this.#expects === 'name' || this.#expects === 'name or }') this.#readName(byte);
    else if (this.#expects === 'end') this.#fail();
    else this.#readValue(byte);
  }

  #readValue(byte: number): void {
    if (byte === closeList && this.#expects === 'value or ]') this.#close();
    else if (byte === openObject || byte === openList) this.#openAt(byte === openList);
    else if (byte === quote) this.#beginString(false);
    else if (byte === 0x2d || isDigit(byte)) this.#readPlain(endOfNumber(this.#bytes, this.#at));
    else this.#readPlain(endOfLiteral(this.#bytes, this.#at));
  }

  #openAt(isList: boolean): void {
    if (this.#open.length === mostOpen) {
      throw new JsonFault(`not be nested more than ${mostLevels} levels deep`, { isOfValue: true });
    }
    this.#open.push({ start: this.#at, isList });
    this.#expects = isList ? 'value or ]' : 'name or }';
    this.#at += 1;
  }

  #close(): void {
    const { start } = this.#open.pop() as { start: number };
    this.#at += 1;
    this.#ended(start);
  }

  #readSeparator(byte: number): void {
    const { isList } = this.#open.at(-1) as { isList: boolean };
    if (byte === (isList ? closeList : closeObject)) {
      this.#close();
      return;
    }
    if (byte !== comma) this.#fail();
    this.#expects = isList ? 'value' : 'name';
    this.#at += 1;
  }

  #readName(byte: number): void {
    if (byte === closeObject && this.#expects === 'name or }') this.#close();
    else if (byte === quote) this.#beginString(true);
    else this.#fail();
  }

  #readColon(byte: number): void {
    if (byte !== 0x3a) this.#fail();
    this.#expects = 'value';
    this.#at += 1;
  }

  #beginString(isName: boolean): void {
    this.#string = { start: this.#at, isName };
    this.#at += 1;
  }

  #readString(until: number): void {
    const bytes = this.#bytes;
    const from = this.#at;
    let at = from;
    let isAscii = true;
    // A character is not cut.
    while (at < until || isContinuation(bytes[at])) {
      const byte = bytes[at] as number;
      if (byte === quote) break;
      if (byte < 0x20) this.#fail(at);
      if (byte > 0x7f) isAscii = false;
      at = byte === backslash ? this.#endOf(endOfEscape(bytes, at)) : at + 1;
    }
    if (!isAscii && !isUtf8(bytes.subarray(from, at))) throw new JsonFault('be UTF-8 text');
    this.#at = at;
    if (at < until && bytes[at] === quote) this.#endString();
  }

  #endString(): void {
    const { start, isName } = this.#string as { start: number; isName: boolean };
    this.#string = undefined;
    this.#at += 1;
    if (!isName) {
      this.#ended(start);
      return;
    }
    this.#names += 1;
    if (this.#open.length === 1) {
      this.#listener.onName(start, this.#at);
      this.#names = 0;
    } else if (this.#open.length === 2) this.#listener.onInnerName?.(start, this.#at);
    this.#expects = 'colon';
  }

  #readPlain(found: TokenEnd): void {
    const start = this.#at;
    this.#at = this.#endOf(found);
    this.#ended(start);
  }

  #endOf(found: TokenEnd): number {
    return 'end' in found ? found.end : this.#fail(found.wrong);
  }

  #ended(start: number): void {
    const depth = this.#open.length;
    this.#expects = depth === 0 ? 'end' : 'more';
    if (depth > 2) return;
    const inList = this.#open.at(-1)?.isList === true;
    this.#listener.onValue({ depth, inList, start, end: this.#at, names: this.#names });
    if (depth === 2) this.#names = 0;
  }

  #fail(at = this.#at): never {
    if (at >= this.#bytes.length) throw new JsonFault('be JSON that is complete: it breaks off');
    throw new JsonFault(`be JSON: what stands at byte ${at} cannot stand there`);
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
