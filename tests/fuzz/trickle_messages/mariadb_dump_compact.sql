/*M!999999\- enable the sandbox mode */ 
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE msg_from_host (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  create_time int(11) NOT NULL,
  hostid int(11) NOT NULL,
  variety varchar(254) NOT NULL,
  handled smallint(6) NOT NULL,
  `xml` mediumtext DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=16 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO msg_from_host (id, create_time, hostid, variety, handled, xml) VALUES (11,1700000000,5,'orig',0,'<result_name>hadam3p_x_0</result_name>\n<data>it\'s a tab:	\"here\", (a), backslash: \\; `q` -- /* #</data>\n<ts>7</ts>\n'),
(12,1700000001,6,'orig',1,NULL),
(15,1700000002,5,'o\'r',0,'<result_name>grüße_0</result_name>\r\n<d>\Z\0</d><ts>9</ts>');
