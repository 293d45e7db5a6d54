/** Nothing in the bench opens SQLite; what tries to is told so. */
export default class Database {
  constructor() {
    throw new Error("SQLite is not part of this bench");
  }
}
