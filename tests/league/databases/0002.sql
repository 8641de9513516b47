-- A league that has ended, as the code of commit 380945f5 has left it, without its log and its recordings.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE challenges (
	id INTEGER NOT NULL, 
	by_team INTEGER NOT NULL, 
	team INTEGER NOT NULL, 
	created_at FLOAT NOT NULL, 
	pair_id INTEGER NOT NULL, 
	CONSTRAINT pk_challenges PRIMARY KEY (id), 
	CONSTRAINT fk_challenges_by_team FOREIGN KEY(by_team) REFERENCES teams (id), 
	CONSTRAINT fk_challenges_pair_id FOREIGN KEY(pair_id) REFERENCES pairs (id), 
	CONSTRAINT fk_challenges_team FOREIGN KEY(team) REFERENCES teams (id)
);
INSERT INTO "challenges" VALUES(1,3,1,1800000000.0,6);
INSERT INTO "challenges" VALUES(2,3,1,1800000000.0,7);
INSERT INTO "challenges" VALUES(3,2,3,1800000000.0,9);
CREATE TABLE games (
	id INTEGER NOT NULL, 
	pair_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	first INTEGER NOT NULL, 
	second INTEGER NOT NULL, 
	team1 INTEGER, 
	team2 INTEGER, 
	winner INTEGER, 
	is_counted BOOLEAN NOT NULL, 
	is_void BOOLEAN DEFAULT 0 NOT NULL, 
	verdict VARCHAR NOT NULL, 
	offender INTEGER, 
	reason_de VARCHAR DEFAULT '' NOT NULL, 
	reason_en VARCHAR DEFAULT '' NOT NULL, 
	points1 INTEGER, 
	points2 INTEGER, 
	plies INTEGER DEFAULT 0 NOT NULL, 
	seconds FLOAT DEFAULT 0 NOT NULL, 
	finished_at FLOAT NOT NULL, 
	machine1 VARCHAR DEFAULT '' NOT NULL, 
	machine2 VARCHAR DEFAULT '' NOT NULL, 
	CONSTRAINT pk_games PRIMARY KEY (id), 
	CONSTRAINT fk_games_first FOREIGN KEY(first) REFERENCES versions (id), 
	CONSTRAINT fk_games_pair_id FOREIGN KEY(pair_id) REFERENCES pairs (id), 
	CONSTRAINT fk_games_second FOREIGN KEY(second) REFERENCES versions (id), 
	CONSTRAINT fk_games_team1 FOREIGN KEY(team1) REFERENCES teams (id), 
	CONSTRAINT fk_games_team2 FOREIGN KEY(team2) REFERENCES teams (id), 
	CONSTRAINT uq_games_pair_id_number UNIQUE (pair_id, number)
);
INSERT INTO "games" VALUES(1,1,1,1,2,1,2,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(2,1,2,1,2,1,2,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(3,2,1,1,3,1,3,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(4,2,2,1,3,1,3,NULL,1,0,'regular',NULL,'','',5,5,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(5,3,1,3,2,3,2,1,1,0,'regular',0,'','',3,9,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(6,3,2,3,2,3,2,1,1,0,'regular',NULL,'','',3,9,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(7,4,1,2,1,2,1,1,1,0,'regular',NULL,'','',3,9,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(8,4,2,2,1,2,1,NULL,0,0,'overloaded machine',NULL,'','',5,5,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(9,5,1,1,2,1,2,0,1,1,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(10,5,2,1,2,1,2,0,1,1,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(11,6,1,3,1,3,1,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(12,6,2,3,1,3,1,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(13,7,1,3,1,3,1,0,1,1,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(14,7,2,3,1,3,1,0,1,1,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(15,8,1,3,1,3,1,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(16,8,2,3,1,3,1,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(17,9,1,2,3,2,3,0,1,1,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(18,9,2,2,3,2,3,0,1,1,'regular',NULL,'','',9,3,0,0.0,1800000000.0,'','');
INSERT INTO "games" VALUES(19,11,1,1,2,1,2,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000201.0,'','');
INSERT INTO "games" VALUES(20,11,2,1,2,1,2,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000202.0,'','');
INSERT INTO "games" VALUES(21,12,1,3,2,3,2,1,1,0,'regular',NULL,'','',3,9,0,0.0,1800000201.0,'','');
INSERT INTO "games" VALUES(22,12,2,3,2,3,2,1,1,0,'regular',NULL,'','',3,9,0,0.0,1800000202.0,'','');
INSERT INTO "games" VALUES(23,13,1,3,1,3,1,1,1,0,'regular',NULL,'','',3,9,0,0.0,1800000201.0,'','');
INSERT INTO "games" VALUES(24,13,2,3,1,3,1,1,1,0,'regular',NULL,'','',3,9,0,0.0,1800000202.0,'','');
INSERT INTO "games" VALUES(25,14,1,2,3,2,3,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000501.0,'','');
INSERT INTO "games" VALUES(26,14,2,2,3,2,3,0,1,0,'regular',NULL,'','',9,3,0,0.0,1800000502.0,'','');
INSERT INTO "games" VALUES(27,15,1,1,2,1,2,1,1,0,'regular',NULL,'','',3,9,0,0.0,1800000501.0,'','');
INSERT INTO "games" VALUES(28,15,2,1,2,1,2,NULL,0,0,'overloaded machine',NULL,'','',5,5,0,0.0,1800000502.0,'','');
CREATE TABLE helpers (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	code_hash VARCHAR NOT NULL, 
	created_at FLOAT NOT NULL, 
	is_revoked BOOLEAN DEFAULT 0 NOT NULL, 
	runs_without_sandbox BOOLEAN DEFAULT 0 NOT NULL, 
	last_seen_at FLOAT, 
	platform JSON, 
	CONSTRAINT pk_helpers PRIMARY KEY (id), 
	CONSTRAINT uq_helpers_code_hash UNIQUE (code_hash), 
	CONSTRAINT uq_helpers_name UNIQUE (name)
);
CREATE TABLE log (
	id INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	actor VARCHAR NOT NULL, 
	action VARCHAR NOT NULL, 
	subject VARCHAR DEFAULT '' NOT NULL, 
	details JSON NOT NULL, 
	CONSTRAINT pk_log PRIMARY KEY (id)
);
CREATE TABLE messages (
	id INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	text VARCHAR NOT NULL, 
	CONSTRAINT pk_messages PRIMARY KEY (id)
);
CREATE TABLE packages (
	sha256 VARCHAR NOT NULL, 
	size INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	CONSTRAINT pk_packages PRIMARY KEY (sha256)
);
INSERT INTO "packages" VALUES('a33c689cfa399003b853ec27f49a48fdf736a0e30d6a0e5feceb0e7772196b11',9,X'7061636B6167652031');
INSERT INTO "packages" VALUES('3dbc44e0c8030e76f14931d5d350131b12b38b20e9bd8bc6a9500eefebd223d5',9,X'7061636B6167652032');
INSERT INTO "packages" VALUES('788c332e3562616a2ad7a8318d60a8e26b73e7a282e83ec36cb8fc2397ea7650',9,X'7061636B6167652033');
CREATE TABLE pairs (
	id INTEGER NOT NULL, 
	stage VARCHAR NOT NULL, 
	purpose VARCHAR NOT NULL, 
	first INTEGER NOT NULL, 
	second INTEGER NOT NULL, 
	seed INTEGER NOT NULL, 
	games INTEGER NOT NULL, 
	round INTEGER, 
	label VARCHAR DEFAULT '' NOT NULL, 
	created_at FLOAT NOT NULL, 
	state VARCHAR NOT NULL, 
	CONSTRAINT pk_pairs PRIMARY KEY (id), 
	CONSTRAINT fk_pairs_first FOREIGN KEY(first) REFERENCES versions (id), 
	CONSTRAINT fk_pairs_second FOREIGN KEY(second) REFERENCES versions (id)
);
INSERT INTO "pairs" VALUES(1,'practice','league',1,2,100,2,NULL,'',1800000000.0,'done');
INSERT INTO "pairs" VALUES(2,'practice','league',1,3,101,2,NULL,'',1800000000.0,'done');
INSERT INTO "pairs" VALUES(3,'practice','league',3,2,102,2,NULL,'',1800000000.0,'done');
INSERT INTO "pairs" VALUES(4,'practice','league',2,1,103,2,NULL,'',1800000000.0,'done');
INSERT INTO "pairs" VALUES(5,'practice','league',1,2,104,2,NULL,'',1800000000.0,'void');
INSERT INTO "pairs" VALUES(6,'practice','challenge',3,1,105,2,NULL,'',1800000000.0,'done');
INSERT INTO "pairs" VALUES(7,'practice','challenge',3,1,106,2,NULL,'',1800000000.0,'void');
INSERT INTO "pairs" VALUES(8,'practice','repeat',3,1,106,2,NULL,'',1800000001.0,'done');
INSERT INTO "pairs" VALUES(9,'practice','challenge',2,3,107,2,NULL,'',1800000000.0,'void');
INSERT INTO "pairs" VALUES(10,'practice','repeat',2,3,107,2,NULL,'',1800000001.0,'void');
INSERT INTO "pairs" VALUES(11,'final','final',1,2,577090037,2,1,'',1800000200.0,'done');
INSERT INTO "pairs" VALUES(12,'final','final',3,2,2444712010,2,2,'',1800000200.0,'done');
INSERT INTO "pairs" VALUES(13,'final','final',3,1,3639700191,2,3,'',1800000200.0,'done');
INSERT INTO "pairs" VALUES(14,'final','final',2,3,3445702192,2,1,'',1800000500.0,'done');
INSERT INTO "pairs" VALUES(15,'final','final',1,2,3280387012,2,2,'',1800000500.0,'done');
CREATE TABLE ratings (
	version_id INTEGER NOT NULL, 
	day VARCHAR NOT NULL, 
	rating FLOAT NOT NULL, 
	low FLOAT NOT NULL, 
	high FLOAT NOT NULL, 
	games INTEGER NOT NULL, 
	CONSTRAINT pk_ratings PRIMARY KEY (version_id, day), 
	CONSTRAINT fk_ratings_version_id FOREIGN KEY(version_id) REFERENCES versions (id)
);
CREATE TABLE recordings (
	game_id INTEGER NOT NULL, 
	replay BLOB, 
	details JSON NOT NULL, 
	stderr1 BLOB, 
	stderr2 BLOB, 
	CONSTRAINT pk_recordings PRIMARY KEY (game_id), 
	CONSTRAINT fk_recordings_game_id FOREIGN KEY(game_id) REFERENCES games (id) ON DELETE CASCADE
);
CREATE TABLE results (
	first INTEGER NOT NULL, 
	second INTEGER NOT NULL, 
	h0 INTEGER DEFAULT 0 NOT NULL, 
	h1 INTEGER DEFAULT 0 NOT NULL, 
	h2 INTEGER DEFAULT 0 NOT NULL, 
	h3 INTEGER DEFAULT 0 NOT NULL, 
	h4 INTEGER DEFAULT 0 NOT NULL, 
	s0 INTEGER DEFAULT 0 NOT NULL, 
	s1 INTEGER DEFAULT 0 NOT NULL, 
	s2 INTEGER DEFAULT 0 NOT NULL, 
	wins INTEGER DEFAULT 0 NOT NULL, 
	draws INTEGER DEFAULT 0 NOT NULL, 
	losses INTEGER DEFAULT 0 NOT NULL, 
	faults1 INTEGER DEFAULT 0 NOT NULL, 
	faults2 INTEGER DEFAULT 0 NOT NULL, 
	points1 INTEGER DEFAULT 0 NOT NULL, 
	points2 INTEGER DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_results PRIMARY KEY (first, second), 
	CONSTRAINT fk_results_first FOREIGN KEY(first) REFERENCES versions (id), 
	CONSTRAINT fk_results_second FOREIGN KEY(second) REFERENCES versions (id)
);
INSERT INTO "results" VALUES(1,2,0,0,0,0,2,1,0,1,5,0,1,0,0,48,24);
INSERT INTO "results" VALUES(1,3,2,0,0,1,1,0,0,0,3,1,4,0,0,44,50);
INSERT INTO "results" VALUES(2,3,0,0,0,0,3,0,0,0,6,0,0,0,1,54,18);
CREATE TABLE sessions (
	token_hash VARCHAR NOT NULL, 
	role VARCHAR NOT NULL, 
	team_id INTEGER, 
	created_at FLOAT NOT NULL, 
	last_used_at FLOAT NOT NULL, 
	form_token VARCHAR NOT NULL, 
	CONSTRAINT pk_sessions PRIMARY KEY (token_hash), 
	CONSTRAINT fk_sessions_team_id FOREIGN KEY(team_id) REFERENCES teams (id) ON DELETE CASCADE
);
CREATE TABLE settings (
	"key" VARCHAR NOT NULL, 
	value JSON NOT NULL, 
	CONSTRAINT pk_settings PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('final_kind','"knock-out"');
INSERT INTO "settings" VALUES('final_pairs',1);
INSERT INTO "settings" VALUES('final_seeding','[1, 2, 3]');
INSERT INTO "settings" VALUES('final_begun_at',1800000400);
INSERT INTO "settings" VALUES('stage','"over"');
INSERT INTO "settings" VALUES('freeze_at','null');
CREATE TABLE teams (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	code_key VARCHAR NOT NULL, 
	code_hash VARCHAR NOT NULL, 
	created_at FLOAT NOT NULL, 
	is_paused BOOLEAN DEFAULT 0 NOT NULL, 
	pause_reason VARCHAR DEFAULT '' NOT NULL, 
	allows_helpers BOOLEAN DEFAULT 1 NOT NULL, 
	is_removed BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_teams PRIMARY KEY (id), 
	CONSTRAINT uq_teams_code_key UNIQUE (code_key), 
	CONSTRAINT uq_teams_name UNIQUE (name)
);
INSERT INTO "teams" VALUES(1,'T1','Y2UA','$argon2id$v=19$m=19456,t=2,p=1$Wm3GFmuLanaBeWtGp16Org$t1MxYLmlLZT7csAa4Mm/kj0yYB7aMcDojeVT7HlRo4Q',1800000000.0,0,'',1,0);
INSERT INTO "teams" VALUES(2,'T2','EH6C','$argon2id$v=19$m=19456,t=2,p=1$SbovFpbpaMRsf9E28AQB+g$dRt9IMfmMMsyQTrQJQ9CZ/f8lfFdlQQgqjaDN7W1rCM',1800000000.0,0,'',1,0);
INSERT INTO "teams" VALUES(3,'T3','VGL9','$argon2id$v=19$m=19456,t=2,p=1$1wX6dKRU0EjnWl/FUQ9Unw$J+is7Ny/FQ1yYtoGSOu6piejJaEv3CMBrZDJi6BAFow',1800000000.0,0,'',1,0);
CREATE TABLE versions (
	id INTEGER NOT NULL, 
	team_id INTEGER, 
	number INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	sha256 VARCHAR, 
	size INTEGER DEFAULT 0 NOT NULL, 
	builtin VARCHAR, 
	main VARCHAR DEFAULT '' NOT NULL, 
	parameters VARCHAR DEFAULT '' NOT NULL, 
	uploaded_at FLOAT NOT NULL, 
	state VARCHAR NOT NULL, 
	fault_code VARCHAR DEFAULT '' NOT NULL, 
	fault_de VARCHAR DEFAULT '' NOT NULL, 
	fault_en VARCHAR DEFAULT '' NOT NULL, 
	checked_at FLOAT, 
	full_check VARCHAR NOT NULL, 
	full_report JSON, 
	is_active BOOLEAN DEFAULT 0 NOT NULL, 
	anchor_rating FLOAT, 
	is_paused BOOLEAN DEFAULT 0 NOT NULL, 
	pause_reason VARCHAR DEFAULT '' NOT NULL, faults_after INTEGER DEFAULT 0 NOT NULL, upload_key VARCHAR, 
	CONSTRAINT pk_versions PRIMARY KEY (id), 
	CONSTRAINT fk_versions_sha256 FOREIGN KEY(sha256) REFERENCES packages (sha256), 
	CONSTRAINT fk_versions_team_id FOREIGN KEY(team_id) REFERENCES teams (id), 
	CONSTRAINT uq_versions_builtin UNIQUE (builtin), 
	CONSTRAINT uq_versions_team_id_number UNIQUE (team_id, number)
);
INSERT INTO "versions" VALUES(1,1,1,'bot.zip','a33c689cfa399003b853ec27f49a48fdf736a0e30d6a0e5feceb0e7772196b11',9,NULL,'','',1800000000.0,'accepted','','','',1800000000.0,'waiting',NULL,1,NULL,0,'',0,NULL);
INSERT INTO "versions" VALUES(2,2,1,'bot.zip','3dbc44e0c8030e76f14931d5d350131b12b38b20e9bd8bc6a9500eefebd223d5',9,NULL,'','',1800000000.0,'accepted','','','',1800000000.0,'waiting',NULL,1,NULL,0,'',0,NULL);
INSERT INTO "versions" VALUES(3,3,1,'bot.zip','788c332e3562616a2ad7a8318d60a8e26b73e7a282e83ec36cb8fc2397ea7650',9,NULL,'','',1800000000.0,'accepted','','','',1800000000.0,'waiting',NULL,1,NULL,0,'',0,NULL);
CREATE INDEX ix_sessions_team_id ON sessions (team_id);
CREATE UNIQUE INDEX ix_versions_active ON versions (team_id) WHERE is_active = 1 AND team_id IS NOT NULL;
CREATE INDEX ix_versions_full_check ON versions (full_check);
CREATE INDEX ix_versions_sha256 ON versions (sha256);
CREATE INDEX ix_versions_state ON versions (state);
CREATE INDEX ix_pairs_first_second ON pairs (first, second);
CREATE INDEX ix_pairs_purpose_round ON pairs (purpose, round);
CREATE INDEX ix_pairs_second ON pairs (second);
CREATE INDEX ix_pairs_state ON pairs (state);
CREATE INDEX ix_results_second ON results (second);
CREATE INDEX ix_challenges_by_team ON challenges (by_team, created_at);
CREATE INDEX ix_challenges_team ON challenges (team, created_at);
CREATE INDEX ix_games_finished_at ON games (finished_at);
CREATE INDEX ix_games_first ON games (first, id);
CREATE INDEX ix_games_second ON games (second, id);
CREATE INDEX ix_games_team1 ON games (team1, id);
CREATE INDEX ix_games_team2 ON games (team2, id);
CREATE UNIQUE INDEX ix_versions_upload_key ON versions (team_id, upload_key);
COMMIT;
